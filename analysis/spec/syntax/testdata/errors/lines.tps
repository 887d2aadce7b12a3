event a = enter bank.c
event b = enter bank.c:12
event c = leave src/bank.c:20-12
event d = leave bank.c:0-3
event e = enter bank.c:1-99999999999
event f = enter
event g = enter `my bank.c:x-3`
event h = enter bank.c:1-2(x)
check atomicity(bank.c:9-3)
check atomicity(`bank.c:9-3`)
check atomicity()
event k = entre bank.c:1-2
event ok1 = enter ./src/my-bank.c:10-20
event ok2 = leave `my bank.c:10-20` by t when n > 0
event l = leave sell -> n
event m = leave sell(*n)
event n = leave
