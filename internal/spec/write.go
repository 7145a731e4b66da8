package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
)

// Write replaces a document with what a model wrote and returns the hex SHA-256 of
// the bytes on disk. In tasks, status and evidence lines are not the model's: they
// become those on disk of the same task, and a new task is pending and unproved.
// Tasks that cannot be read are refused, with the line, and nothing is written.
func (s *Store) Write(id, doc, content string) (string, error) {
	doc, err := document(doc)
	if err != nil {
		return "", err
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data := []byte(content)
	if doc == Tasks {
		old, err := s.read(id, Tasks)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if data, err = keepStates(data, old); err != nil {
			return "", err
		}
	}
	return s.replace(id, doc, data)
}

// keepStates gives the tasks of content the status and evidence they have in old.
func keepStates(content, old []byte) ([]byte, error) {
	d, err := ParseTasks(content)
	if err != nil {
		return nil, err
	}
	if len(d.Tasks) == 0 {
		return nil, d.missing()
	}
	states := map[string]Update{}
	if was, err := ParseTasks(old); err == nil {
		for _, t := range was.Tasks {
			states[t.ID] = Update{Status: t.Status, Evidence: t.Evidence}
		}
	}
	for _, t := range d.Tasks {
		u, known := states[t.ID]
		if !known {
			u.Status = Pending
		}
		if u.Status == t.Status && u.Evidence == t.Evidence {
			continue
		}
		if content, err = d.Set(t.ID, u); err != nil {
			return nil, err
		}
		if d, err = ParseTasks(content); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// Save replaces a document with a person's own text, byte for byte.
func (s *Store) Save(id, doc, content string) (string, error) {
	doc, err := document(doc)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replace(id, doc, []byte(content))
}

func (s *Store) replace(id, doc string, data []byte) (string, error) {
	if why := unfit(data); why != "" {
		return "", fmt.Errorf("%s.md was not written: the text %s", doc, why)
	}
	if err := s.present(id); err != nil {
		return "", err
	}
	if err := s.files.Write(file(id, doc), data); err != nil {
		return "", fmt.Errorf("write %s.md of spec %s (what was there is unchanged): %w", doc, id, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// UpdateTask sets a task's status, its notes unless they are "", and its evidence,
// in tasks.md as it is on disk now, and returns the task as it then is.
func (s *Store) UpdateTask(id, task string, status Status, notes string, evidence *event.Evidence) (Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.read(id, Tasks)
	if errors.Is(err, fs.ErrNotExist) {
		if gone := s.present(id); gone != nil {
			return Task{}, gone
		}
	}
	if err != nil {
		return Task{}, err
	}
	d, err := ParseTasks(data)
	if err != nil {
		return Task{}, fmt.Errorf("update %s: %w", task, err)
	}
	next, err := d.Set(task, Update{Status: status, Notes: notes, Evidence: EvidenceText(evidence)})
	if err != nil {
		return Task{}, err
	}
	if !bytes.Equal(next, data) {
		if _, err := s.replace(id, Tasks, next); err != nil {
			return Task{}, err
		}
	}
	d, err = ParseTasks(next)
	if err != nil {
		return Task{}, fmt.Errorf("read tasks.md again: %w", err)
	}
	return d.Tasks[slices.IndexFunc(d.Tasks, func(t Task) bool { return t.ID == TaskID(task) })], nil
}
