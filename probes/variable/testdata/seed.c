/* The source of seed.elf:
 * gcc -g -O1 -nostdlib -static -no-pie -fno-pie -Wl,--build-id=none -Wl,-z,noseparate-code -ffile-prefix-map=$PWD=. -o seed.elf seed.c */
typedef _Atomic struct { _Bool value; } atomic_flag;
enum color { red, green } paint;
struct node { struct node *next; } *head;
int hits;
static volatile long total;
atomic_flag busy;
double level;
int table[3];
__attribute__((noinline)) int count_up(int n) { static volatile int count; count += n; return count; }
void _start(void) { hits++; total += count_up(hits); paint = green; head = 0; level = total; table[1] = 2; }
