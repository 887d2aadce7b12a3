// The innocent twin of socket: the connection is closed once nobody writes any more.
#define JOIN_FIRST
#include "../socket/socket.c"
