/*
 * Any bytes as text in any encoding: strict and replacing agree, what comes is UTF-8, and a cut through the bytes changes
 * nothing (E41 to E43); UTF-8, UTF-16 and UTF-32 are accepted exactly where iconv accepts them.
 */
#include "script.h"

#include <brimful.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, LONGEST = 4000 };

static const char *const labels[] = {
  "utf-8",     "utf-16le",     "utf-16be",  "utf-32le", "utf-32be",    "windows-1252", "shift_jis",      "gb18030",
  "euc-kr",    "euc-jp",       "big5",      "gbk",      "iso-2022-jp", "koi8-u",       "x-user-defined", "replacement",
  "macintosh", "windows-1255", "iso-8859-8", NULL,
};
enum { LABELS = sizeof labels / sizeof labels[0], UNICODE = 5 };

struct text {
  brimful_status status;
  char *utf8;
  size_t length;
  uint64_t offset;
};

/* The bytes as a body in blocks of 4096 bytes. */
static brimful_buffer *body_of(brimful_pool *pool, const uint8_t *bytes, size_t length)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer = NULL;
  options.first_block = options.max_window = BLOCK;
  MUST(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
  MUST(brimful_collector_write(collector, bytes, length, NULL) == BRIMFUL_OK);
  MUST(brimful_collector_end(collector) == BRIMFUL_OK);
  MUST(brimful_collector_finish(collector, &buffer) == BRIMFUL_OK);
  brimful_collector_free(collector);
  return buffer;
}

static struct text decode(const brimful_buffer *buffer, const char *label, uint32_t flags)
{
  struct text text = { BRIMFUL_OK, NULL, 0, BRIMFUL_UNKNOWN };
  text.status = brimful_buffer_decode(buffer, label, flags, NULL, &text.utf8, &text.length, &text.offset);
  if (text.status == BRIMFUL_OK)
    MUST(text.utf8 != NULL && text.utf8[text.length] == 0);
  else
    MUST(text.status == BRIMFUL_ERR_ENCODING && flags == 0 && text.utf8 == NULL);
  return text;
}

/* Whether iconv takes the bytes whole. */
static int is_text(const char *label, const char *bytes, size_t length)
{
  iconv_t state = iconv_open("UTF-32LE", label);
  size_t room = 4 * length + 4;
  char *text = malloc(room), *to = text, *from = (char *)(uintptr_t)bytes;
  int taken = iconv(state, &from, &length, &to, &room) != (size_t)-1 && length == 0;
  iconv_close(state);
  free(text);
  return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
  static const uint32_t flags[] = { 0, BRIMFUL_DECODE_REPLACE };
  static uint8_t all[BLOCK + LONGEST];
  struct script script = { bytes, length };
  unsigned which = next_byte(&script) % LABELS;
  size_t cut = next_byte(&script), before;
  brimful_pool *pools[2]; /* one block after the other, and one that grows in place */
  if (script.length > LONGEST)
    return -1;
  /* Behind zeros, which are characters in every encoding, so that the first block ends `cut` bytes within. */
  before = cut == 0 ? 0 : BLOCK - (cut < script.length ? cut : script.length);
  memset(all, 0, before);
  memcpy(all + before, script.bytes, script.length);
  for (int i = 0; i < 2; i++) {
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    options.flags = i == 0 ? BRIMFUL_POOL_LIST : 0;
    MUST(brimful_pool_new(&options, &pools[i]) == BRIMFUL_OK);
  }
  for (int f = 0; f < 2; f++) {
    struct text texts[2];
    for (int i = 0; i < 2; i++) {
      brimful_buffer *body = body_of(pools[i], all, before + script.length);
      texts[i] = decode(body, labels[which], flags[f]);
      brimful_buffer_release(body);
    }
    MUST(texts[0].status == texts[1].status && texts[0].offset == texts[1].offset && texts[0].length == texts[1].length);
    if (texts[0].status == BRIMFUL_OK)
      MUST(memcmp(texts[0].utf8, texts[1].utf8, texts[0].length) == 0 && is_text("UTF-8", texts[0].utf8, texts[0].length));
    else
      MUST(texts[0].offset < before + script.length);
    if (f == 0 && which < UNICODE)
      MUST((texts[0].status == BRIMFUL_OK) == is_text(labels[which], (const char *)all, before + script.length));
    brimful_memory_free(texts[0].utf8);
    brimful_memory_free(texts[1].utf8);
  }
  brimful_pool_release(pools[0]);
  brimful_pool_release(pools[1]);
  return 0;
}
