/* See json.h. */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64

struct reader {
  const char *at;
  const char *expected; /* what stopped the reading */
  int depth;
};

static struct json *read_value(struct reader *reader);

static void *refuse(struct reader *reader, const char *expected)
{
  if (reader->expected == NULL)
    reader->expected = expected;
  return NULL;
}

static void skip_space(struct reader *reader)
{
  reader->at += strspn(reader->at, " \t\r\n");
}

static int hex_digit(char digit)
{
  const char *digits = "0123456789abcdefABCDEF";
  const char *found = digit == '\0' ? NULL : strchr(digits, digit);
  if (found == NULL)
    return -1;
  return (int)(found - digits) < 16 ? (int)(found - digits) : (int)(found - digits) - 6;
}

/* Four hex digits; -1 where they are not. */
static long hex_unit(struct reader *reader)
{
  long unit = 0;
  for (int i = 0; i < 4; i++, reader->at++) {
    int digit = hex_digit(*reader->at);
    if (digit < 0)
      return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

static char *put_utf8(char *out, unsigned long code)
{
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out++ = (char)(0xe0 | code >> 12);
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  } else {
    *out++ = (char)(0xf0 | code >> 18);
    *out++ = (char)(0x80 | (code >> 12 & 0x3f));
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  }
  return out;
}

/* What follows a backslash. */
static char *read_escape(struct reader *reader, char *out)
{
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  char letter = *reader->at;
  const char *found = letter == '\0' ? NULL : strchr(letters, letter);
  if (found != NULL) {
    reader->at++;
    *out++ = meanings[found - letters];
    return out;
  }
  if (letter != 'u')
    return refuse(reader, "an escape");
  reader->at++;
  long unit = hex_unit(reader);
  if (unit >= 0xd800 && unit < 0xdc00 && reader->at[0] == '\\' && reader->at[1] == 'u') {
    reader->at += 2;
    long low = hex_unit(reader);
    if (low < 0xdc00 || low >= 0xe000)
      return refuse(reader, "the second half of a surrogate pair");
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }
  if (unit < 0 || (unit >= 0xd800 && unit < 0xe000))
    return refuse(reader, "four hex digits of a character");
  return put_utf8(out, (unsigned long)unit);
}

static char *read_string(struct reader *reader)
{
  if (*reader->at != '"')
    return refuse(reader, "a string");
  reader->at++;
  char *text = malloc(strlen(reader->at) + 1), *out = text;
  if (text == NULL)
    return refuse(reader, "memory");
  while (*reader->at != '"') {
    if ((unsigned char)*reader->at < 0x20) {
      free(text);
      return refuse(reader, "the end of a string");
    }
    if (*reader->at != '\\') {
      *out++ = *reader->at++;
      continue;
    }
    reader->at++;
    out = read_escape(reader, out);
    if (out == NULL) {
      free(text);
      return NULL;
    }
  }
  reader->at++;
  *out = '\0';
  return text;
}

/* The characters of a number, which json_unsigned and json_signed make an integer of. */
static char *read_number(struct reader *reader)
{
  size_t length = strspn(reader->at, "+-0123456789.eE");
  char *text = length == 0 ? refuse(reader, "a value") : malloc(length + 1);
  if (text == NULL)
    return refuse(reader, "memory");
  memcpy(text, reader->at, length);
  text[length] = '\0';
  reader->at += length;
  return text;
}

/* The elements of an array or the members of an object, whose first bracket was read. */
static int read_children(struct reader *reader, struct json *parent)
{
  char close = parent->kind == JSON_ARRAY ? ']' : '}';
  struct json **last = &parent->first;
  skip_space(reader);
  if (*reader->at == close) {
    reader->at++;
    return 1;
  }
  for (;;) {
    char *key = NULL;
    skip_space(reader);
    if (parent->kind == JSON_OBJECT) {
      key = read_string(reader);
      skip_space(reader);
      if (key != NULL && *reader->at != ':') {
        free(key);
        key = refuse(reader, "a colon");
      }
      if (key == NULL)
        return 0;
      reader->at++;
    }
    *last = read_value(reader);
    if (*last == NULL) {
      free(key);
      return 0;
    }
    (*last)->key = key;
    last = &(*last)->next;
    skip_space(reader);
    if (*reader->at == close) {
      reader->at++;
      return 1;
    }
    if (*reader->at != ',') {
      refuse(reader, close == ']' ? "a comma or ]" : "a comma or }");
      return 0;
    }
    reader->at++;
  }
}

static int read_word(struct reader *reader, struct json *value)
{
  static const char *const words[] = { "null", "false", "true" };
  for (int i = 0; i < 3; i++) {
    if (strncmp(reader->at, words[i], strlen(words[i])) == 0) {
      reader->at += strlen(words[i]);
      value->kind = (enum json_kind)i;
      return 1;
    }
  }
  return 0;
}

static struct json *read_value(struct reader *reader)
{
  struct json *value = calloc(1, sizeof *value);
  int whole;
  if (value == NULL)
    return refuse(reader, "memory");
  skip_space(reader);
  if (++reader->depth > DEEPEST) {
    refuse(reader, "fewer levels");
    whole = 0;
  } else if (*reader->at == '{' || *reader->at == '[') {
    value->kind = *reader->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    whole = read_children(reader, value);
  } else if (*reader->at == '"') {
    value->kind = JSON_STRING;
    whole = (value->text = read_string(reader)) != NULL;
  } else if (read_word(reader, value)) {
    whole = 1;
  } else {
    value->kind = JSON_NUMBER;
    whole = (value->text = read_number(reader)) != NULL;
  }
  reader->depth--;
  if (whole)
    return value;
  json_free(value);
  return NULL;
}

struct json *json_read(const char *text, char *problem, size_t size)
{
  struct reader reader = { text, NULL, 0 };
  struct json *value = read_value(&reader);
  skip_space(&reader);
  if (value != NULL && *reader.at != '\0') {
    json_free(value);
    value = refuse(&reader, "the end of the text");
  }
  if (value == NULL)
    snprintf(problem, size, "expected %s at character %zu", reader.expected, (size_t)(reader.at - text));
  return value;
}

void json_free(struct json *value)
{
  while (value != NULL) {
    struct json *next = value->next;
    json_free(value->first);
    free(value->key);
    free(value->text);
    free(value);
    value = next;
  }
}

const struct json *json_member(const struct json *object, const char *key)
{
  if (object == NULL || object->kind != JSON_OBJECT)
    return NULL;
  for (const struct json *member = object->first; member != NULL; member = member->next) {
    if (strcmp(member->key, key) == 0)
      return member->kind == JSON_NULL ? NULL : member;
  }
  return NULL;
}

static int is_integer(const struct json *value)
{
  const char *digits;
  if (value == NULL || (value->kind != JSON_NUMBER && value->kind != JSON_STRING))
    return 0;
  digits = value->text + (value->text[0] == '-');
  return *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
}

int json_unsigned(const struct json *value, uint64_t *number)
{
  if (!is_integer(value) || value->text[0] == '-')
    return 0;
  errno = 0;
  *number = strtoull(value->text, NULL, 10);
  return errno == 0;
}

int json_signed(const struct json *value, int64_t *number)
{
  if (!is_integer(value))
    return 0;
  errno = 0;
  *number = strtoll(value->text, NULL, 10);
  return errno == 0;
}
