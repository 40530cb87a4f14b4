//! A source that plays the steps of a vector, and the paint that its bytes are made of.

use super::case::{Step, Then};
use brimful::{Answer, Cancel};

/// A multiple of 251 bytes of paint and as much again, so that any piece up to `PERIODS` begins somewhere in it.
pub(crate) struct Paint(Vec<u8>);

const PERIODS: usize = 251 * 1024;

impl Paint {
    pub(crate) fn new() -> Paint {
        Paint((0..=250_u8).cycle().take(2 * PERIODS).collect())
    }

    /// Byte i of a body is i mod 251; this is the piece from `offset` on, cut to what is at hand.
    fn piece(&self, offset: usize, length: usize) -> &[u8] {
        &self.0[offset % 251..][..length.min(PERIODS)]
    }

    /// Paints `target` as the bytes from `offset` on.
    pub(crate) fn fill(&self, mut offset: usize, target: &mut [u8]) {
        for part in target.chunks_mut(PERIODS) {
            part.copy_from_slice(self.piece(offset, part.len()));
            offset += part.len();
        }
    }

    /// Where `bytes` differ from the body's bytes from `offset` on.
    pub(crate) fn first_difference(&self, mut offset: usize, bytes: &[u8]) -> Option<usize> {
        for part in bytes.chunks(PERIODS) {
            let piece = self.piece(offset, part.len());
            if part != piece {
                return part
                    .iter()
                    .zip(piece)
                    .position(|(came, painted)| came != painted)
                    .map(|at| offset + at);
            }
            offset += part.len();
        }
        None
    }
}

/// The pull source.
pub(crate) struct Script<'a> {
    steps: &'a [Step],
    done: u64,
    given: usize,
    paint: &'a Paint,
    cancel: &'a Cancel,
    pub(crate) calls: u64,
    pub(crate) asked: u64,
}

impl<'a> Script<'a> {
    pub(crate) fn new(steps: &'a [Step], paint: &'a Paint, cancel: &'a Cancel) -> Script<'a> {
        let mut script = Script {
            steps,
            done: 0,
            given: 0,
            paint,
            cancel,
            calls: 0,
            asked: 0,
        };
        script.cancel_if_next();
        script
    }

    /// Cancel is asked for as the previous call returns; as the first step, before the first.
    fn cancel_if_next(&mut self) {
        while let [Step::Cancel, rest @ ..] = self.steps {
            self.cancel.trigger();
            self.steps = rest;
        }
    }

    fn next_step(&mut self) {
        self.steps = &self.steps[1..];
        self.done = 0;
        self.cancel_if_next();
    }

    pub(crate) fn answer(&mut self, window: &mut [u8]) -> Answer {
        self.calls += 1;
        self.asked += window.len() as u64;
        match self.steps.first().copied() {
            None | Some(Step::End | Step::Cancel) => Answer::END,
            Some(Step::Give { count, each, then }) => {
                let filled = (count - self.done).min(each).min(window.len() as u64);
                let filled = usize::try_from(filled).expect("at most the window's length");
                self.paint.fill(self.given, &mut window[..filled]);
                self.given += filled;
                self.done += filled as u64;
                if self.done < count {
                    return Answer::filled(filled);
                }
                self.next_step();
                Answer {
                    filled,
                    then: then.into(),
                }
            }
            Some(Step::Answer { times, then }) => {
                self.done += 1;
                if self.done >= times {
                    self.next_step();
                }
                Answer {
                    filled: 0,
                    then: then.into(),
                }
            }
            Some(Step::Over(by)) => {
                self.next_step();
                let by = usize::try_from(by).unwrap_or(usize::MAX);
                Answer::filled(window.len().saturating_add(by))
            }
        }
    }
}

impl From<Then> for brimful::Then {
    fn from(then: Then) -> brimful::Then {
        match then {
            Then::Go => brimful::Then::Go,
            Then::Pending => brimful::Then::Pending,
            Then::Retry => brimful::Then::Retry,
            Then::Failed(number) => brimful::Then::Failed(number),
        }
    }
}
