"""Why a target is missed: a sentence or two for each, shown wherever a line of it is missed. Written by hand."""

REASONS = {
}
