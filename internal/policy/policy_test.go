package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole space: every mode and class, and one value beyond each end.
func TestExposesWholeSpace(t *testing.T) {
	want := map[Mode][]Class{
		Planning:  {Read, System, External},
		Execution: {Read, System, External, Write},
	}
	for m := Mode(-1); m <= Execution+1; m++ {
		for c := Class(-1); c <= Write+1; c++ {
			exposed := false
			for _, x := range want[m] {
				exposed = exposed || x == c
			}
			require.Equal(t, exposed, Exposes(m, c), "%v %v", m, c)
		}
	}
}

// spec says in the plainest way what the gate must answer.
func spec(r Rules, c Call) Decision {
	if c.Name == "" || r.Denied[c.Name] {
		return Deny
	}
	inMode := map[Mode]map[Class]bool{
		Planning:  {Read: true, System: true, External: true},
		Execution: {Read: true, System: true, External: true, Write: true},
	}
	if !inMode[c.Mode][c.Class] {
		return Deny
	}
	flagged := func(f Flag) bool {
		for _, x := range c.Flags {
			if x == f {
				return true
			}
		}
		return false
	}
	asks := map[Class]bool{
		Read:     flagged(FlagSecret),
		External: !c.Approved,
		Write:    flagged(FlagRunsCode) || flagged(FlagSecret) || r.ConfirmWrites,
	}
	if asks[c.Class] {
		return Ask
	}
	return Allow
}

func TestDecideWholeSpace(t *testing.T) {
	all := []Flag{FlagRunsCode, FlagSecret, FlagHardLink, FlagHidden, FlagDelete}
	counts := map[Decision]int{}
	for m := Mode(-1); m <= Execution+1; m++ {
		for c := Class(-1); c <= Write+1; c++ {
			for _, name := range []string{"", "tool", "denied"} {
				for set := range 1 << len(all) {
					for choices := range 4 {
						call := Call{Mode: m, Class: c, Name: name, Approved: choices&1 != 0}
						for i, f := range all {
							if set>>i&1 != 0 {
								call.Flags = append(call.Flags, f)
							}
						}
						rules := Rules{ConfirmWrites: choices&2 != 0, Denied: map[string]bool{"denied": true}}
						got, why := rules.Decide(call)
						require.Equal(t, spec(rules, call), got, "%+v %+v", rules, call)
						require.NotEmpty(t, why)
						counts[got]++
					}
				}
			}
		}
	}
	require.Equal(t, 5*7*3*32*4, counts[Deny]+counts[Ask]+counts[Allow])
	require.NotZero(t, counts[Ask])
	require.NotZero(t, counts[Allow])
}

func TestZeroValuesDeny(t *testing.T) {
	var d Decision
	require.Equal(t, Deny, d)
	got, _ := Rules{}.Decide(Call{})
	require.Equal(t, Deny, got)
	got, why := Rules{}.Decide(Call{Name: "x"})
	require.Equal(t, Deny, got)
	require.Contains(t, why, "unclassified")
}

func TestNamesOfEnums(t *testing.T) {
	require.Equal(t, "none planning execution none", fmt.Sprint(None, " ", Planning, " ", Execution, " ", Mode(9)))
	require.Equal(t, "unclassified read system external write unclassified",
		fmt.Sprint(Unclassified, " ", Read, " ", System, " ", External, " ", Write, " ", Class(9)))
	require.Equal(t, "deny ask allow deny", fmt.Sprint(Deny, " ", Ask, " ", Allow, " ", Decision(9)))
}
