package empty

import (
	"slices"
	"testing"
)

func TestSitesOfATable(t *testing.T) {
	const text = `ADDRESS  MOVED  COST      PROBE        OBSERVES                                FUNCTION                    WHY
0x86b90  +0     emulated  call         its caller, for the call that it wraps  pthread_cond_broadcast      push +0x0
0x90500  +14    emulated  outcome      acquire mutex                           pthread_mutex_lock          jne +0x57
0x90500  +14    emulated  outcome      acquire mutex                           __pthread_mutex_lock        jne +0x57
0x90900  +0     stepped   call+return  acquire rwlock (try)                    pthread_rwlock_trywrlock    stays: a store
note: something cannot be seen
`
	got, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Site{
		{0x86b90, false, "its caller, for the call that it wraps", "pthread_cond_broadcast"},
		{0x90500, false, "acquire mutex", "pthread_mutex_lock"},
		{0x90500, false, "acquire mutex", "__pthread_mutex_lock"},
		{0x90900, true, "acquire rwlock (try)", "pthread_rwlock_trywrlock"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
