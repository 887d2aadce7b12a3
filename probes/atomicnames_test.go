package probes

import "testing"

// TestAtomicNames checks which functions count as parts of atomic types, by the names that compilers give them.
func TestAtomicNames(t *testing.T) {
	for name, want := range map[string]bool{
		"_ZNKSt13__atomic_baseIiE4loadESt12memory_order":                                             true,
		"_ZNVSt6atomicIbE5storeEbSt12memory_order":                                                   true,
		"_ZN4core4sync6atomic11atomic_load17h0123456789abcdefE":                                      true,
		"_RINvNtNtCsgEmfK2I1SDS_4core4sync6atomic23atomic_compare_exchangejECsjrHSEGnQ3l9_3std":      true,
		"_RNvMs1v_NtNtCsgEmfK2I1SDS_4core4sync6atomicNtB6_11AtomicUsize16compare_exchange":           true,
		"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended":            false,
		"_RINvNtCsgEmfK2I1SDS_4core3mem4swapNtNtNtB4_4sync6atomic10AtomicBoolECsjrHSEGnQ3l9_3std":    false,
		"_RINvCsjrHSEGnQ3l9_3app3runNtNtNtCsgEmfK2I1SDS_4core4sync6atomic10AtomicBoolECsjrHSEGnQ3l9": false,
		"_ZN3app3runERSt6atomicIbE": false,
		"":                          false,
	} {
		if got := atomicNames.MatchString(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
