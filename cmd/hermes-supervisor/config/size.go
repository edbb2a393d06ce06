package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, in the file a string with a unit: "512B", "64KiB", "64MiB", "2GiB", "1TiB".
type Size int64

// sizeUnits are the units, the largest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText reads the file's form. The error is one phrase for people.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range sizeUnits {
		digits, found := strings.CutSuffix(string(text), unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || strings.Trim(digits, "0123456789") != "" || n > math.MaxInt64/unit.bytes {
			break
		}
		if n == 0 {
			return fmt.Errorf("must be above zero, not %.40q", text)
		}
		*s = Size(n * unit.bytes)
		return nil
	}
	return fmt.Errorf(`%.40q is no size (as in "512KiB", "64MiB", "2GiB")`, text)
}

// MarshalText is the file's form.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the number of the largest unit of which the size is a whole number.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if n := int64(s); n != 0 && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return "0B"
}
