;;; Drives `hipscope lsp` from Emacs' eglot in batch mode, set up as the documentation says, and prints one JSON object of
;;; what it saw. HIPSCOPE_FILE: the program to open.
(require 'eglot)
(require 'json)
(setq eglot-sync-connect t
      eglot-confirm-server-initiated-edits nil
      vc-handled-backends nil
      make-backup-files nil
      project-find-functions (list (lambda (folder) (cons 'transient folder))))
(find-file (getenv "HIPSCOPE_FILE"))
(let ((seen (list (cons 'mode (symbol-name major-mode)))))
  (run-hooks 'post-command-hook) ; batch mode has no commands, after which eglot-ensure connects
  (let ((server (eglot--current-server-or-lose))
        (document (eglot--TextDocumentIdentifier)))
    (push (cons 'answer (jsonrpc-request server :workspace/executeCommand
                                         (list :command "hipscope.server.profile" :arguments (vector document))))
          seen)
    (flymake-mode 1)
    (let ((left 200))
      (while (and (> left 0) (null (flymake-diagnostics)))
        (accept-process-output nil 0.05)
        (flymake-start)
        (setq left (1- left))))
    (push (cons 'diagnostics
                (vconcat (mapcar (lambda (d) (list (cons 'line (line-number-at-pos (flymake-diagnostic-beg d)))
                                                   (cons 'message (flymake-diagnostic-text d))))
                                 (flymake-diagnostics))))
          seen)
    (goto-char (point-min))
    (forward-line 3)
    (forward-char 6)
    (let ((hover (jsonrpc-request server :textDocument/hover (eglot--TextDocumentPositionParams))))
      (push (cons 'hover (plist-get (plist-get hover :contents) :value)) seen))
    (let ((action (aref (vconcat (eglot-code-actions (point) (point))) 0)))
      (push (cons 'action (plist-get action :title)) seen)
      ;; With eglot's own time-out: the server must not keep the editor waiting.
      (advice-add 'completing-read :override
                  (lambda (question &rest _) (push (cons 'question question) seen) "Apply"))
      (jsonrpc-request server :workspace/executeCommand (plist-get action :command)))
    (let ((left 400))
      (while (and (> left 0) (not (string-match-p "fast" (buffer-substring (line-beginning-position)
                                                                           (line-end-position)))))
        (accept-process-output nil 0.05)
        (setq left (1- left))))
    (push (cons 'line (buffer-substring (line-beginning-position) (line-end-position))) seen)
    (set-buffer-modified-p nil)
    (eglot-shutdown server)
    (princ (json-encode seen))))
