package insn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// vectorSource is code that compilers turn into vector instructions of all widths.
const vectorSource = `
#include <math.h>
struct v { float f[64]; double d[32]; int i[64]; short s[64]; unsigned char c[64]; long l[32]; };
void add(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) a->f[i] = a->f[i] + b->f[i] * 3; }
void widen(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) a->i[i] = b->s[i]; }
void floats(struct v *a, struct v *b) { for (int i = 0; i < 32; i++) a->d[i] = b->i[i]; }
void narrow(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) a->c[i] = b->i[i]; }
void single(struct v *a, struct v *b) { for (int i = 0; i < 32; i++) a->f[i] = b->d[i]; }
void bytes(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) a->f[i] = b->c[i]; }
void shift(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) a->i[i] = a->i[i] << b->i[i]; }
void some(struct v *a, struct v *b) { for (int i = 0; i < 64; i++) if (b->i[i] > 3) a->i[i] = b->i[i] * 3; }
void gather(struct v *a, struct v *b, float *t) { for (int i = 0; i < 64; i++) a->f[i] = t[b->i[i]]; }
void scatter(struct v *a, struct v *b, float *t) { for (int i = 0; i < 64; i++) t[b->i[i]] = a->f[i]; }
float dot(struct v *a, struct v *b) { float s = 0; for (int i = 0; i < 64; i++) s += a->f[i] * b->f[i]; return s; }
double sum(struct v *a, struct v *b) { double s = 0; for (int i = 0; i < 32; i++) s = s * a->d[i] + b->d[i]; return s; }
void scale(struct v *a, float *x) { for (int i = 0; i < 64; i++) a->f[i] *= *x; }
void copy(struct v *a, struct v *b) { *a = *b; }
void complex(float *a, float *b) { for (int i = 0; i < 64; i += 2) { a[i] = b[i] * b[i] - b[i + 1] * b[i + 1]; a[i + 1] = 2 * b[i] * b[i + 1]; } }
void back(int *a, int *b) { for (int i = 0; i < 64; i++) a[i] = b[63 - i]; }
void third(int *a, int *b) { for (int i = 0; i < 64; i++) a[i] = b[3 * i]; }
void down(struct v *a) { for (int i = 0; i < 64; i++) a->f[i] = floorf(a->f[i]); }
`

// vectorForms are instructions by their operands. Those that mention {k1} access memory under a mask.
var vectorForms = []string{
	"zmm1, [rdi+0x40]: vmovups vmovupd vmovaps vmovapd vmovdqu8 vmovdqu16 vmovdqu32 vmovdqu64 vmovdqa32 vmovdqa64 vmovntdqa vmovsldup vmovshdup vmovddup vbroadcastss vbroadcastsd vbroadcastf32x2 vbroadcastf32x4 vbroadcastf64x4 vbroadcasti32x4 vbroadcasti64x4 vpbroadcastb vpbroadcastw vpbroadcastd vpbroadcastq vpmovzxbw vpmovzxbd vpmovzxbq vpmovzxwd vpmovzxwq vpmovzxdq vpmovsxbw vpmovsxbd vpmovsxbq vpmovsxwd vpmovsxwq vpmovsxdq vcvtph2ps vcvtps2pd vcvtdq2pd vcvtudq2pd vcvtdq2ps vcvtps2dq vcvttps2dq vcvttpd2qq vcvttps2qq vcvtps2qq vcvtqq2pd vcvtuqq2pd vcvtudq2ps vcvttps2udq vcvtps2udq vcvttps2uqq vcvtps2uqq vcvtpd2uqq vsqrtps vsqrtpd vrcp14ps vrsqrt14pd vgetexpps vpabsb vpabsd vpabsq vplzcntd vpconflictd vpopcntd vpopcntw",
	"ymm1, [rdi+0x40]: vmovddup vmovsldup vmovdqu8 vmovdqu vpmovzxbw vpmovsxbd vpmovzxbq vpmovsxwd vpmovzxwq vpmovsxdq vcvtph2ps vcvtps2pd vcvtdq2pd vcvtqq2pd vcvttps2qq vbroadcastsd vpbroadcastb vbroadcastf128 vbroadcasti128 vptest vlddqu",
	"xmm1, [rdi+0x40]: movddup movsldup pmovzxbw pmovsxbd pmovzxbq pmovsxwd pmovzxwq pmovsxdq vmovddup vmovq vmovd vpmovzxbq vcvtps2pd vcvtdq2pd vcvtudq2pd vmovss vmovsd vucomiss vcomisd vpbroadcastb",
	"ymm1, ZMMWORD PTR [rdi+0x40]: vcvtpd2ps vcvtpd2dq vcvttpd2dq vcvttpd2udq vcvtpd2udq vcvtqq2ps vcvtuqq2ps",
	"zmm1, zmm2, [rdi+0x40]: vaddps vaddpd vsubps vmulpd vdivps vminps vmaxpd vandps vorpd vxorps vandnpd vunpcklps vunpckhpd vpaddb vpaddw vpaddd vpaddq vpsubd vpmullw vpmulld vpmullq vpmuludq vpmuldq vpandd vpandq vpord vpxorq vpandnd vpunpcklbw vpunpckhdq vpackssdw vpackuswb vpshufb vpermd vpermq vpermb vpermw vpermt2d vpermi2q vpermt2ps vpermi2pd vpermt2b vpsllw vpslld vpsllq vpsraw vpsrad vpsraq vpsrlw vpsrld vpsrlq vpsllvw vpsllvd vpsravq vpsrlvd vprolvd vprorvq vfmadd132ps vfmadd213pd vfmadd231ps vfmsub132pd vfnmadd213ps vfmaddsub213ps vfmsubadd231pd vpblendmd vblendmps vscalefps vpmadd52luq vpdpbusd vpdpwssds vpmaddwd vpmaddubsw vpavgb vpsadbw vpminsb vpmaxuq vpermilps vpermilpd vpmultishiftqb vpshldvd vgf2p8mulb vaesenc",
	"xmm1, xmm2, [rdi+0x40]: vaddss vsubsd vmulss vdivsd vminss vsqrtsd vfmadd132ss vfmadd213sd vfnmsub231ss vcvtss2sd vcvtsd2ss vrcp14ss vgetexpsd vscalefss vmovlps vmovhpd vpsllw vpsrad vpsrlq",
	"ymm1, ymm2, [rdi+0x40]: vaddps vpaddd vfmadd132ps vfmadd231pd vfmsub213ps vfnmadd132pd vpermd vpermps vpsllvd vpsrlvq vpsravd vpsllw vpsrad vpsrlq vpermilps vpermilpd",
	"zmm1, zmm2, [rdi+0x40], 3: vshufps vshufpd valignd valignq vpternlogd vpalignr vrangeps vfixupimmpd vshuff32x4 vshufi64x2 vdbpsadbw vpshldd vpclmulqdq vgf2p8affineqb",
	"zmm1, [rdi+0x40], 3: vpermilps vpermilpd vpermq vpermpd vpshufd vpshufhw vrndscaleps vreduceps vgetmantpd vpslld vpsrlq vpsraq vprold vprorq vpslldq",
	"ymm1, [rdi+0x40], 3: vpermq vpermpd vpermilps vpshufd vroundps",
	"ymm1, ymm2, [rdi+0x40], 3: vperm2f128 vperm2i128 vpblendd vblendps vinsertf128 vinserti128 vshufps vmpsadbw",
	"ymm1, ymm2, [rdi+0x40], ymm3: vblendvps vblendvpd vpblendvb",
	"xmm1, xmm2, [rdi+0x40], 3: vrndscaless vreducesd vgetmantss vrangesd vfixupimmss vinsertps vpinsrb vpinsrw vpinsrd vpinsrq",
	"zmm1, zmm2, [rdi+0x40], 1: vinsertf32x4 vinsertf64x4 vinserti32x8 vinserti64x2",
	"[rdi+0x40], zmm1: vmovups vmovapd vmovdqu8 vmovdqu32 vmovdqa64 vmovntps vmovntdq vpmovwb vpmovdb vpmovqb vpmovdw vpmovqw vpmovqd vpmovsdb vpmovusqd",
	"[rdi+0x40], xmm1: vmovss vmovsd vmovlps vmovhpd vmovq vmovd vpmovqd",
	"[rdi+0x40], xmm1, 1: vpextrb vpextrw vpextrd vpextrq vextractps",
	"[rdi+0x40], zmm1, 1: vextractf32x4 vextractf64x4 vextracti32x8 vextracti64x2 vcvtps2ph",
	"[rdi+0x40], ymm1, 1: vextractf128 vextracti128 vcvtps2ph",
	"zmm1, zmm2, DWORD PTR [rdi+0x40]{1to16}: vaddps vpaddd vfmadd213ps vpermd vpsllvd vpandd",
	"zmm1, zmm2, QWORD PTR [rdi+0x40]{1to8}: vaddpd vpaddq vfmadd213pd vpermq vpsllvq vpandq",
	"zmm1, DWORD PTR [rdi+0x40]{1to8}: vcvtps2pd vcvtdq2pd",
	"k1, zmm2, [rdi+0x40]: vpcmpeqd vpcmpgtq vpcmpeqb vptestmd vptestnmq",
	"k1, zmm2, [rdi+0x40], 3: vpcmpd vpcmpuq vpcmpb vcmpps vcmppd",
	"k1, [rdi+0x40]: kmovb kmovw kmovd kmovq",
	"[rdi+0x40], k1: kmovb kmovw kmovd kmovq",
	"xmm17, xmm18, QWORD PTR [rdi+0x40]: vcvtsi2sd vcvtusi2ss",
	"rax, [rdi+0x40]: vcvttsd2si vcvtss2si vcvttss2usi vcvtsd2usi",
	"zmm1{k1}, [rdi+0x40]: vmovups vmovdqu32 vpmovzxbw vpexpandd vexpandps",
	"[rdi+0x40]{k1}, zmm1: vmovups vmovdqu8 vpcompressd vcompresspd vpmovdb",
	"zmm1{k1}, [rdi+zmm2*4+0x40]: vgatherdps vpgatherdd",
	"[rdi+zmm2*4+0x40]{k1}, zmm1: vscatterdps vpscatterdd",
	"ymm1, ymm2, [rdi+0x40] {masked}: vmaskmovps vmaskmovpd vpmaskmovd vpmaskmovq",
	"[rdi+0x40], ymm1, ymm2 {masked}: vmaskmovps vpmaskmovq",
}

var pointed = regexp.MustCompile(`(BYTE|[XYZ]MMWORD|[DQT]?WORD|OWORD) (?:PTR|BCST) \[r\w\w([+-]0x[0-9a-f]+)?\]`)

var pointedSizes = map[string]int{"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "OWORD": 16, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}

// TestVectorOperands compares the size, displacement and direction of memory operands of vector instructions with
// objdump's: of what a compiler makes, and of one instruction of each kind. None of what accesses memory under a
// mask, or gathers, may be modelled.
func TestVectorOperands(t *testing.T) {
	testtool.Need(t, "gcc")
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	dir := t.TempDir()
	var forms strings.Builder
	forms.WriteString(".intel_syntax noprefix\n.text\n")
	for _, form := range vectorForms {
		operands, names, _ := strings.Cut(form, ": ")
		operands = strings.TrimSuffix(operands, " {masked}")
		for name := range strings.FieldsSeq(names) {
			fmt.Fprintf(&forms, "%s %s\n", name, operands)
		}
	}
	for name, source := range map[string]string{"v4": vectorSource, "v3": vectorSource, "forms": forms.String()} {
		t.Run(name, func(t *testing.T) {
			file, object := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".o")
			args := []string{"-O3", "-ffast-math", "-march=x86-64-" + name}
			if name == "forms" {
				file, args = filepath.Join(dir, name+".s"), nil
			}
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("gcc", append(args, "-c", "-o", object, file)...).CombinedOutput(); err != nil {
				t.Fatalf("gcc: %v\n%s", err, out)
			}
			compareOperands(t, object)
		})
	}
}

func compareOperands(t *testing.T, object string) {
	ts := openImage(t, object).load(t)
	n := 0
	dump(t, "objdump -M intel", object, func(d dumped) {
		in, err := Decode(AMD64, bytesAt(ts, d.addr, 15), d.addr)
		if err != nil || in.Len != d.n {
			t.Errorf("%s: length %d, want %d (%v)", d.text, in.Len, d.n, err)
			return
		}
		op := strings.Fields(d.text)[0]
		if op[0] != 'v' && op[0] != 'k' && op[0] != 'm' && op[0] != 'p' {
			return
		}
		masked := strings.Contains(d.text, "gather") || strings.Contains(d.text, "scatter") || strings.Contains(d.text, "maskmov") || strings.Contains(d.text, "{k")
		m := pointed.FindStringSubmatch(d.text)
		switch {
		case in.Kind != Plain || strings.Contains(d.text, "PTR [rip"):
		case m == nil && !masked:
			if !in.Known {
				t.Errorf("%s: not modelled", d.text)
			}
		case m == nil || masked:
			if in.Known && strings.Contains(d.text, " PTR ") {
				t.Errorf("%s: modelled: %+v", d.text, in.Mem)
			}
		default:
			n++
			disp, _ := strconv.ParseInt(m[2], 0, 64)
			write := strings.Index(d.text, m[0]) < strings.Index(d.text+",", ",")
			if !in.Known || in.NMem != 1 || in.Mem[0].Size != pointedSizes[m[1]] || in.Mem[0].Disp != disp || in.Mem[0].Write != write || in.Mem[0].Read == write {
				t.Errorf("%s: known %v, %+v", d.text, in.Known, in.Mem[:in.NMem])
			}
		}
	})
	if n < 50 {
		t.Errorf("only %d operands", n)
	}
}
