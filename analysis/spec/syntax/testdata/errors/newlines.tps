property m = ere bad {a}
  {b}
property n = ere bad a
  * b
ÿ
var  = x
prop z = (((((1
