// No other thread may see the money between the till and the safe, which is a part of what serve does.
check atomicity(till.c:33-37)
