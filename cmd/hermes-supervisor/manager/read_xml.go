package manager

import "strings"

// xmlTexts are the texts of the elements of that name, in their order. It reads what property lists and tasks are made of,
// elements, comments and the five entities, and is not for any other XML: encoding/xml would stay in the memory of every
// run for the sake of a look at three files.
func xmlTexts(text, element string) []string {
	var found []string
	open, end := "<"+element+">", "</"+element+">"
	text = withoutComments(text)
	for {
		_, rest, is := strings.Cut(text, open)
		if !is {
			return found
		}
		value, after, is := strings.Cut(rest, end)
		if !is {
			return found
		}
		found = append(found, unescapeXML(value))
		text = after
	}
}

func withoutComments(text string) string {
	var kept strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		kept.WriteString(before)
		if !found {
			return kept.String()
		}
		_, text, _ = strings.Cut(rest, "-->")
	}
}

func unescapeXML(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&").Replace(s)
}

// plistString is the string or integer behind a key of a property list, at any depth; "" where there is none.
func plistString(text, key string) string {
	text = withoutComments(text)
	_, rest, found := strings.Cut(text, "<key>"+escapeXML(key)+"</key>")
	if !found {
		return ""
	}
	rest = strings.TrimSpace(rest)
	for _, element := range []string{"string", "integer"} {
		if value, is := strings.CutPrefix(rest, "<"+element+">"); is {
			value, _, _ = strings.Cut(value, "</"+element+">")
			return unescapeXML(value)
		}
	}
	return ""
}

// windowsWords takes a command line apart as CommandLineToArgvW does.
func windowsWords(line string) []string {
	var words []string
	var word strings.Builder
	inQuotes, inWord, slashes := false, false, 0
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		} else {
			inQuotes = false // the end ends all of it
		}
		if c == '\\' {
			slashes++
			inWord = true
			continue
		}
		if c == '"' {
			word.WriteString(strings.Repeat(`\`, slashes/2))
			if slashes%2 == 1 {
				word.WriteByte('"')
			} else {
				inQuotes = !inQuotes
			}
			slashes, inWord = 0, true
			continue
		}
		word.WriteString(strings.Repeat(`\`, slashes))
		slashes = 0
		if !inQuotes && (c == ' ' || c == '\t') {
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			continue
		}
		word.WriteByte(c)
		inWord = true
	}
	return words
}
