package fsstate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
)

// Seal sets "mac": the HMAC-SHA256, in hex, over the context (what the document is and where it belongs) and the
// document's compact encoding without "mac". Whoever changes a field, or copies the document to another context, cannot make it
// again without the key. With an empty key, or a field that is no JSON, "mac" is removed instead.
func (d Document) Seal(key []byte, context string) {
	sum, ok := d.sum(key, context)
	if !ok {
		delete(d, macKey)
		return
	}
	d[macKey] = json.RawMessage(`"` + hex.EncodeToString(sum) + `"`)
}

// Verify tells whether Seal made this document's "mac" with the same key and context and nothing was changed since.
func (d Document) Verify(key []byte, context string) bool {
	var text string
	if json.Unmarshal(d[macKey], &text) != nil {
		return false
	}
	given, err := hex.DecodeString(text)
	if err != nil {
		return false
	}
	sum, ok := d.sum(key, context)
	return ok && hmac.Equal(given, sum)
}

func (d Document) sum(key []byte, context string) ([]byte, bool) {
	if len(key) == 0 {
		return nil, false
	}
	rest := maps.Clone(d)
	delete(rest, macKey)
	text, err := rest.compact()
	if err != nil {
		return nil, false
	}
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%d:%s\n", len(context), context) // the length keeps a context from reaching into the document
	h.Write(text)
	return h.Sum(nil), true
}
