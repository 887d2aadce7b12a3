// What the valve does in every order: the water never falls.
var w : int = water
property rising = always (w >= 0)
