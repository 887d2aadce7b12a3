// What variables, locks and their kin stand for in the program.
var w : int = water
var again : int = water
var field : int = `state of struct conn`
lock guard = server.lock
event taken = acquire guard
event other = acquire gaurd
event new = acquire resource_lock
event twice = release resource_lock
event woken = wait resource_lock
event moved = signal moved_on
property p = always (w < 3 || taken || other || new || twice || woken || moved)
