/* As small as a program can be: a seed for fuzzing. */
int x;
int main(void) { return __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST); }
