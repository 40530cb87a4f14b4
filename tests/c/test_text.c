/* Text from buffers: the table of cases that every language runs (tests/text), arguments, allocators (E41 to E43). */
#include "check.h"
#include "json.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BLOCK 4096

/* A buffer of `before` bytes of padding, unit by unit, and these bytes, in a list of blocks whose first has 4096. */
static brimful_buffer *body_of(brimful_pool *pool, const void *unit, size_t unit_length, size_t before, const void *bytes,
                               size_t length)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer;
  options.first_block = LEAST_BLOCK;
  if (brimful_collector_new(pool, &options, &collector) != BRIMFUL_OK)
    abort();
  for (size_t i = 0; i < before; i += unit_length)
    STATUS(brimful_collector_write(collector, unit, unit_length, NULL), BRIMFUL_OK);
  for (size_t done = 0, piece; done < length; done += piece) {
    piece = length - done < 1000 ? length - done : 1000;
    STATUS(brimful_collector_write(collector, (const char *)bytes + done, piece, NULL), BRIMFUL_OK);
  }
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  if (brimful_collector_finish(collector, &buffer) != BRIMFUL_OK)
    abort();
  brimful_collector_free(collector);
  return buffer;
}

static brimful_buffer *body(const char *bytes)
{
  return body_of(NULL, "", 1, 0, bytes, strlen(bytes));
}

static size_t unhex(const char *hex, unsigned char *bytes)
{
  size_t length = strlen(hex) / 2;
  for (size_t i = 0; i < length; i++) {
    const char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
    bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
  }
  return length;
}

static const char *text_of(const struct json *json, const char *key)
{
  const struct json *member = json_member(json, key);
  return member == NULL ? NULL : member->text;
}

/* One line of the table. */
struct row {
  const char *encoding, *applies, *status;
  uint32_t flags;
  uint64_t offset;
  size_t length, text_length;
  unsigned char bytes[8192], text[8192];
};

static int row_read(const struct json *json, struct row *row)
{
  const char *bytes = text_of(json, "bytes"), *utf8 = text_of(json, "utf8"), *errors = text_of(json, "errors");
  row->encoding = text_of(json, "encoding");
  row->applies = text_of(json, "applies");
  row->status = text_of(json, "status");
  if (bytes == NULL || errors == NULL || row->status == NULL || strlen(bytes) / 2 > sizeof row->bytes)
    return 0;
  row->flags = strcmp(errors, "replace") == 0 ? BRIMFUL_DECODE_REPLACE : 0;
  row->length = unhex(bytes, row->bytes);
  row->text_length = utf8 == NULL ? 0 : unhex(utf8, row->text);
  row->offset = 0;
  return strcmp(row->status, "encoding") != 0 || json_unsigned(json_member(json, "offset"), &row->offset);
}

/* Whether it decodes as the row says, behind `before` bytes that are `characters` times an x. */
static int decodes(const struct row *row, const brimful_buffer *buffer, size_t before, size_t characters)
{
  char *text = (char *)1;
  size_t length = 1;
  uint64_t offset = 1;
  brimful_status status = brimful_buffer_decode(buffer, row->encoding, row->flags, NULL, &text, &length, &offset);
  int right = strcmp(brimful_status_name(status), row->status) == 0;
  if (status == BRIMFUL_OK) {
    right = right && offset == 0 && length == characters + row->text_length && text[length] == '\0' &&
            memcmp(text + characters, row->text, row->text_length) == 0;
    for (size_t i = 0; right && i < characters; i++)
      right = text[i] == 'x';
    free(text);
  } else {
    right = right && text == NULL && length == 0;
    right = right && offset == (status == BRIMFUL_ERR_ENCODING ? before + row->offset : 0);
  }
  return right;
}

/* Bytes of an x in the encoding; 0 where the row cannot stand behind others. */
static size_t unit_of(const struct row *row, char unit[4])
{
  static const char *const marks[] = { "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff" };
  size_t size;
  if (row->encoding == NULL || row->applies == NULL || strcmp(row->applies, "replacement") == 0)
    return 0;
  for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
    if (row->length >= strlen(marks[i]) && memcmp(row->bytes, marks[i], strlen(marks[i])) == 0)
      return 0;
  }
  if (row->length >= 4 && memcmp(row->bytes, "\0\0\xfe\xff", 4) == 0)
    return 0;
  size = strncmp(row->applies, "UTF-16", 6) == 0 ? 2 : strncmp(row->applies, "UTF-32", 6) == 0 ? 4 : 1;
  memset(unit, 0, 4);
  unit[strstr(row->applies, "BE") != NULL ? size - 1 : 0] = 'x';
  return size;
}

/* Whether the row holds alone, and with each of its first characters lying in two blocks. */
static int holds(const struct row *row, brimful_pool *pool, unsigned *cut)
{
  char unit[4];
  size_t size = unit_of(row, unit);
  brimful_buffer *buffer = body_of(pool, "", 1, 0, row->bytes, row->length);
  int right = decodes(row, buffer, 0, 0);
  brimful_buffer_release(buffer);
  for (size_t at = size; right && size > 0 && at < row->length && at <= 12; at += size) {
    size_t before = LEAST_BLOCK - at;
    buffer = body_of(pool, unit, size, before, row->bytes, row->length);
    right = decodes(row, buffer, before, before / size);
    *cut += brimful_buffer_segment_count(buffer) == 2;
    brimful_buffer_release(buffer);
  }
  return right;
}

TEST(every_case_of_the_table_decodes_alone_and_lying_in_two_blocks)
{
  static struct row row;
  char problem[200];
  unsigned ran = 0, cut = 0;
  brimful_pool *pools[] = { new_pool(0), new_pool(BRIMFUL_POOL_LIST) };
  FILE *file = fopen(TEXT_CASES, "rb");
  char *text = calloc(1, 4 << 20);
  struct json *cases;
  REQUIRE(file != NULL && text != NULL && pools[0] != NULL && pools[1] != NULL);
  CHECK(fread(text, 1, (4 << 20) - 1, file) > 0);
  fclose(file);
  cases = json_read(text, problem, sizeof problem);
  REQUIRE(cases != NULL && cases->kind == JSON_ARRAY);
  for (const struct json *json = cases->first; json != NULL; json = json->next, ran++) {
    int right = row_read(json, &row) && holds(&row, pools[0], &cut) && holds(&row, pools[1], &cut);
    CHECK(right);
    if (!right)
      printf("  %s, %s, flags %" PRIu32 ": %s\n", text_of(json, "why"), row.encoding != NULL ? row.encoding : "none given",
             row.flags, text_of(json, "bytes"));
  }
  CHECK(ran > 1500 && cut > 1500);
  json_free(cases);
  free(text);
  brimful_pool_release(pools[0]);
  brimful_pool_release(pools[1]);
}

TEST(a_text_of_many_blocks_is_decoded_without_joining_them)
{
  char *expected = malloc(10 * 100000 + 1), *text;
  size_t length;
  brimful_info info = { .struct_size = sizeof info };
  brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
  brimful_buffer *buffer;
  REQUIRE(expected != NULL && pool != NULL);
  for (size_t i = 0; i < 100000; i++)
    memcpy(expected + 10 * i, "a\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9", 11);
  buffer = body_of(pool, "", 1, 0, expected, 10 * 100000);
  CHECK(brimful_buffer_segment_count(buffer) > 2);
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, &text, &length, NULL), BRIMFUL_OK);
  CHECK(length == 10 * 100000 && strcmp(text, expected) == 0);
  STATUS(brimful_buffer_info(buffer, &info), BRIMFUL_OK);
  CHECK(info.copied < 100000);
  brimful_memory_free(text);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
  free(expected);
}

TEST(decoding_refuses_null_other_flags_and_names_of_nothing_and_clears_what_it_would_have_filled)
{
  brimful_buffer *buffer = body("text");
  brimful_allocator allocator = { .struct_size = sizeof allocator };
  char *text = (char *)1;
  size_t length = 1;
  uint64_t offset = 1;
  STATUS(brimful_buffer_decode(NULL, NULL, 0, NULL, &text, &length, &offset), BRIMFUL_ERR_INVALID);
  CHECK(text == NULL && length == 0 && offset == 0);
  text = (char *)1;
  length = 1;
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, NULL, &length, &offset), BRIMFUL_ERR_INVALID);
  SAME(length, 0);
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, &text, NULL, &offset), BRIMFUL_ERR_INVALID);
  CHECK(text == NULL);
  STATUS(brimful_buffer_decode(buffer, NULL, 2, NULL, &text, &length, &offset), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_decode(buffer, "", 0, NULL, &text, &length, &offset), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_decode(buffer, "no-such", 1, NULL, &text, &length, &offset), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_decode(buffer, NULL, 0, &allocator, &text, &length, &offset), BRIMFUL_ERR_INVALID);
  CHECK(text == NULL && length == 0 && offset == 0);
  STATUS(brimful_buffer_decode(buffer, "'UTF-8' ", 0, NULL, &text, &length, NULL), BRIMFUL_OK);
  CHECK(length == 4 && strcmp(text, "text") == 0);
  free(text);
  brimful_buffer_release(buffer);
}

TEST(an_error_says_where_and_leaves_the_buffer_to_be_decoded_otherwise)
{
  brimful_buffer *buffer = body("caf\xe9"), *slice;
  char *text;
  size_t length;
  uint64_t offset;
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, &text, &length, &offset), BRIMFUL_ERR_ENCODING);
  CHECK(text == NULL && length == 0 && offset == 3);
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, &text, &length, NULL), BRIMFUL_ERR_ENCODING);
  STATUS(brimful_buffer_decode(buffer, NULL, BRIMFUL_DECODE_REPLACE, NULL, &text, &length, &offset), BRIMFUL_OK);
  CHECK(strcmp(text, "caf\xef\xbf\xbd") == 0 && length == 6 && offset == 0);
  free(text);
  STATUS(brimful_buffer_decode(buffer, "latin1", 0, NULL, &text, &length, &offset), BRIMFUL_OK);
  CHECK(strcmp(text, "caf\xc3\xa9") == 0 && length == 5);
  free(text);
  STATUS(brimful_buffer_slice(buffer, 2, 2, &slice), BRIMFUL_OK);
  STATUS(brimful_buffer_decode(slice, NULL, 0, NULL, &text, &length, &offset), BRIMFUL_ERR_ENCODING);
  SAME(offset, 1);
  brimful_buffer_release(slice);
  brimful_buffer_release(buffer);
}

/* An allocator that knows what it gave. */
struct own {
  uint64_t calls, fails_at;
  uint64_t pieces;
  size_t size; /* of the last piece that it gave or made larger or smaller */
};

static void *own_allocate(void *context, size_t size)
{
  struct own *own = context;
  if (++own->calls == own->fails_at)
    return NULL;
  own->pieces++;
  own->size = size;
  return malloc(size);
}

static void *own_reallocate(void *context, void *memory, size_t old_size, size_t new_size)
{
  struct own *own = context;
  SAME(old_size, own->size);
  if (++own->calls == own->fails_at)
    return NULL;
  own->size = new_size;
  return realloc(memory, new_size);
}

static void own_deallocate(void *context, void *memory, size_t size)
{
  struct own *own = context;
  CHECK(size > 0);
  own->pieces--;
  free(memory);
}

TEST(the_text_lies_in_the_callers_own_memory_of_its_length_and_one_and_a_refusal_leaves_none)
{
  static const struct { const char *bytes, *encoding, *text; } texts[] = {
    { "", NULL, "" },
    { "caf\xc3\xa9", NULL, "caf\xc3\xa9" },
    { "\xef\xbb\xbfx", NULL, "x" },
    { "\xff\xff\xff\xff", NULL, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    { "\x82\xa0\x82\xa2", "shift_jis", "\xe3\x81\x82\xe3\x81\x84" },
    { "\x1b$B$\"\x1b(B", "iso-2022-jp", "\xe3\x81\x82" },
  };
  for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
    brimful_buffer *buffer = body(texts[i].bytes);
    for (int reallocates = 0; reallocates < 2; reallocates++) {
      struct own own = { 0 };
      brimful_allocator allocator = { sizeof allocator, own_allocate, reallocates ? own_reallocate : NULL, own_deallocate, &own };
      brimful_status status = BRIMFUL_ERR_NO_MEMORY;
      char *text = NULL;
      size_t length = 0;
      for (own.fails_at = 1; own.fails_at < 20 && status != BRIMFUL_OK; own.fails_at++) {
        own.calls = 0;
        status = brimful_buffer_decode(buffer, texts[i].encoding, BRIMFUL_DECODE_REPLACE, &allocator, &text, &length, NULL);
        if (status == BRIMFUL_OK)
          break;
        STATUS(status, BRIMFUL_ERR_NO_MEMORY);
        CHECK(text == NULL && own.pieces == 0);
      }
      REQUIRE(status == BRIMFUL_OK);
      CHECK(length == strlen(texts[i].text) && strcmp(text, texts[i].text) == 0);
      SAME(own.pieces, 1);
      SAME(own.size, length + 1);
      own_deallocate(&own, text, length + 1);
    }
    brimful_buffer_release(buffer);
  }
}
