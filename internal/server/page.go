package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/transcript"
	"github.com/coderrr/coderrr/web"
)

// shell is the page without anything of a session.
func (s *Server) shell(w http.ResponseWriter, r *http.Request) {
	var buf bytes.Buffer
	if err := web.Shell("/static/"+s.assets.Hash, "").Render(r.Context(), &buf); err != nil {
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	s.send(w, r, "text/html; charset=utf-8", buf.Bytes())
}

func (s *Server) isAsset(path string) bool {
	name, ok := strings.CutPrefix(path, "/static/"+s.assets.Hash+"/")
	if !ok {
		return false
	}
	_, ok = s.assets.Files[name]
	return ok
}

// asset is a file under the hash of all of them: it never changes.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets.Files[chi.URLParam(r, "*")]
	if !ok || chi.URLParam(r, "hash") != s.assets.Hash {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	s.send(w, r, a.Type, a.Data)
}

// send compresses text for a client that takes it; fonts are compressed already.
func (s *Server) send(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Vary", "Accept-Encoding")
	if len(data) < 1024 || kind == "font/woff2" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(data) // a client that went away is no error of ours
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	zw := gzip.NewWriter(w)
	_, _ = zw.Write(data)
	_ = zw.Close()
}

// listSessions is the list as JSON, for scripts that hold the token.
func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	list, err := s.backend.Sessions(r.Context())
	if err != nil {
		http.Error(w, "the sessions could not be listed: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if list == nil {
		list = []SessionInfo{}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(map[string]any{"sessions": list})
}

// sessionEvents is the log so far, one JSON object a line.
func (s *Server) sessionEvents(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, "application/jsonl; charset=utf-8", event.Writer{W: w}.Print)
}

// sessionMarkdown is the session as a document.
func (s *Server) sessionMarkdown(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, "text/markdown; charset=utf-8", transcript.Markdown{W: w}.Print)
}

func (s *Server) export(w http.ResponseWriter, r *http.Request, kind string, print func(event.Event) error) {
	live, err := s.backend.Open(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	for _, e := range live.Log().Events(0) {
		if print(e) != nil {
			return
		}
	}
}
