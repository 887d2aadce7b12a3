package syntax

import (
	"fmt"
	"strings"
)

// dump writes an arranged expression with every parenthesis.
func dump(x Expr) string {
	switch x := x.(type) {
	case *Ident:
		return x.Name.Text
	case *Number:
		return x.Text
	case *Bool:
		return fmt.Sprint(x.Value)
	case *Null:
		return "null"
	case *Paren:
		return dump(x.X)
	case *Unary:
		return fmt.Sprintf("(%s %s)", x.Op, dump(x.X))
	case *Binary:
		return fmt.Sprintf("(%s %s %s)", dump(x.X), x.Op, dump(x.Y))
	case *Interval:
		w := ""
		if x.Weak {
			w = "w"
		}
		return fmt.Sprintf("[%s, %s)%s", dump(x.F), dump(x.G), w)
	case *At:
		return fmt.Sprintf("@%s%s", x.Thread.Text, dump(x.X))
	case *Count:
		return fmt.Sprintf("%s(%s,%s)", x.Func.Text, x.Of.Text, x.Verdict)
	case *Quantified:
		var vars []string
		for _, v := range x.Vars {
			vars = append(vars, v.Name.Text+":"+v.Type.Text)
		}
		for _, d := range x.Differ {
			vars = append(vars, d[0].Text+"!="+d[1].Text)
		}
		word := "forall"
		if x.Exists {
			word = "exists"
		}
		return word + " " + strings.Join(vars, ",") + "." + dump(x.X)
	}
	return fmt.Sprintf("%T", x)
}

func dumpRegex(x Regex) string {
	all := func(sep string, parts []Regex) string {
		var out []string
		for _, p := range parts {
			out = append(out, dumpRegex(p))
		}
		return "(" + strings.Join(out, sep) + ")"
	}
	switch x := x.(type) {
	case *Letter:
		var out []string
		for _, l := range x.Literals {
			if l.Not {
				out = append(out, "!"+l.Name.Text)
			} else {
				out = append(out, l.Name.Text)
			}
		}
		return "{" + strings.Join(out, ",") + "}"
	case *Cat:
		return all(" ", x.Parts)
	case *Alt:
		return all("|", x.Parts)
	case *And:
		return all("&", x.Parts)
	case *Not:
		return "~" + dumpRegex(x.X)
	case *Repeat:
		return fmt.Sprintf("%s<%d,%d>", dumpRegex(x.X), x.Min, x.Max)
	case *Epsilon:
		return "eps"
	case *Empty:
		return "empty"
	}
	return fmt.Sprintf("%T", x)
}
