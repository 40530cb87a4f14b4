/* A program of two Rust libraries. */

#include <brimful.h>
#include <stdint.h>
#include <stdio.h>

int64_t other_sum(uint32_t count);

int main(void) {
  brimful_collector *collector = NULL;
  brimful_status status = brimful_collector_new(NULL, NULL, &collector);
  if (status == BRIMFUL_OK) status = brimful_collector_write(collector, "seven b", 7, NULL);
  printf("%d %d, %d %d\n", (int)status, (int)brimful_collector_is_complete(collector), (int)other_sum(10), (int)other_sum(1001));
  brimful_collector_free(collector);
  return 0;
}
