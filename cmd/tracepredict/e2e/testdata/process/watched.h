int other(void);
