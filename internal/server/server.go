// Package server shows sessions in a browser on this machine: one page, one
// websocket, patches of HTML that are a pure fold of a session's log. Its one
// rule: nothing of a session leaves without the token, and a decision reaches a
// session only if it names what was on the screen.
package server
