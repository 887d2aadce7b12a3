// What the values of variables never bring about.
var w : int = water
prop middle = w > 30 && w < 20
property never "no value is in the middle" = always !middle
property implied = always (w > 30 -> w > 26)
property at_once = w > 30 && w < 20
