;;; hipscope.el --- GPU profiles of HIP kernels on their lines  -*- lexical-binding: t -*-

;; Version: 0.2.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))

;;; Commentary:
;; Starts `hipscope lsp' with eglot for HIP sources, tints hot lines with their share behind them, and has commands:
;; `hipscope-profile', `hipscope-optimize', `hipscope-check', `hipscope-cancel', `hipscope-kernels', `hipscope-isa' and
;; `hipscope-set-arguments'.

;;; Code:
(require 'eglot)
(require 'cl-lib)
(require 'jsonrpc)

(defgroup hipscope nil "GPU profiles of HIP kernels." :group 'tools)

(defcustom hipscope-command '("hipscope" "lsp")
  "How the server is started."
  :type '(repeat string))

(defface hipscope-warm '((((background dark)) :background "#3a3524" :extend t) (t :background "#fff3d0" :extend t))
  "A line with 1 to 15 % of its kernel's time.")
(defface hipscope-hot '((((background dark)) :background "#5a3f1a" :extend t) (t :background "#ffd9a0" :extend t))
  "A line with 15 to 50 % of its kernel's time.")
(defface hipscope-hottest '((((background dark)) :background "#7d2f1a" :extend t) (t :background "#ffb0a0" :extend t))
  "A line with at least half of its kernel's time.")

(define-derived-mode hip-mode c++-mode "HIP")
(add-to-list 'auto-mode-alist '("\\.hip\\'" . hip-mode))
(add-to-list 'eglot-server-programs
             `(hip-mode . (,@hipscope-command :initializationOptions (:heat t))))

(defun hipscope--face (share)
  "The face of a line with SHARE of its kernel's time, nil for a cold one."
  (cond ((>= share 0.5) 'hipscope-hottest)
        ((>= share 0.15) 'hipscope-hot)
        ((>= share 0.01) 'hipscope-warm)))

(defun hipscope--shade (line share &optional words)
  "Tint LINE, from 0, of this buffer by SHARE, with WORDS behind it."
  (when-let ((face (hipscope--face share)))
    (save-excursion
      (save-restriction
        (widen)
        (goto-char (point-min))
        (when (zerop (forward-line line))
          (let ((overlay (make-overlay (line-beginning-position) (line-end-position))))
            (overlay-put overlay 'hipscope t)
            (overlay-put overlay 'face face)
            (when words
              (overlay-put overlay 'after-string (propertize (concat "  " words) 'face 'shadow)))))))))

(cl-defmethod eglot-handle-notification
  (_server (_method (eql hipscope/heat)) &key uri lines &allow-other-keys)
  "Tint the LINES of the document URI, in place of those before."
  (when-let ((buffer (find-buffer-visiting (eglot--uri-to-path uri))))
    (with-current-buffer buffer
      (remove-overlays nil nil 'hipscope t)
      (mapc (lambda (hot)
              (cl-destructuring-bind (&key line share reason stale &allow-other-keys) hot
                (hipscope--shade line share (format "%.0f %% %s%s" (* 100 share) reason
                                                    (if (eq stale t) " (stale)" "")))))
            lines))))

(defun hipscope--here ()
  "The document and the position of point."
  (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri) :position (eglot--pos-to-lsp-position)))

(defun hipscope--ask (method params)
  "The server's answer to the request METHOD with PARAMS."
  (jsonrpc-request (eglot--current-server-or-lose) method params))

(defun hipscope--run (command arguments)
  "Have the server run COMMAND with ARGUMENTS."
  (hipscope--ask :workspace/executeCommand
                 (list :command (concat "hipscope.server." command) :arguments (vector arguments))))

(defun hipscope-profile () "Build and profile this program." (interactive) (hipscope--run "profile" (hipscope--here)))
(defun hipscope-optimize () "Look for a proved rewrite of the kernel at point." (interactive)
       (hipscope--run "optimize" (hipscope--here)))
(defun hipscope-check () "Run this program under the sanitizers." (interactive) (hipscope--run "check" (hipscope--here)))
(defun hipscope-restore () "Bring back the text before the last rewrite." (interactive)
       (hipscope--run "restore" (hipscope--here)))
(defun hipscope-open-profile (path)
  "Show the marks of the capture or saved report PATH on the open files."
  (interactive "fCapture or saved report: ")
  (hipscope--run "openProfile" (list :path (expand-file-name path))))
(defun hipscope-cancel () "Stop the running job." (interactive) (hipscope--run "cancel" nil))

(defun hipscope-set-arguments (words)
  "Write WORDS, as in a shell, as the arguments of this program, and profile it with them."
  (interactive
   (let* ((program (hipscope--ask :hipscope/arguments (list :uri (plist-get (hipscope--here) :uri))))
          (now (plist-get program :arguments))
          (suggested (and (> (length (plist-get program :suggestions)) 0)
                          (plist-get (aref (plist-get program :suggestions) 0) :arguments)))
          (given (if (> (length now) 0) now suggested)))
     (list (read-string (format "Arguments of %s: " (plist-get program :name))
                        (mapconcat #'shell-quote-argument (append given nil) " ")))))
  (hipscope--run "setArguments" (list :uri (plist-get (hipscope--here) :uri) :arguments words)))

(defun hipscope-kernels ()
  "List the profiled kernels, the costliest first; RET in the list visits one."
  (interactive)
  (let ((rows (append (plist-get (hipscope--ask :hipscope/kernels (list :uri nil)) :kernels) nil)))
    (with-current-buffer (get-buffer-create "*hipscope kernels*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (unless rows (insert "No profile yet: save a HIP program, or M-x hipscope-profile.\n"))
        (dolist (row rows)
          (let ((file (eglot--uri-to-path (plist-get row :uri)))
                (line (1+ (plist-get (plist-get (plist-get row :range) :start) :line))))
            (insert-text-button (plist-get row :name)
                                'action (lambda (_) (find-file-other-window file)
                                          (goto-char (point-min)) (forward-line (1- line))))
            (insert "  " (plist-get row :summary) (if (eq (plist-get row :stale) t) " · stale" "") "\n")))
        (goto-char (point-min)))
      (special-mode)
      (display-buffer (current-buffer)))))

(defun hipscope-isa ()
  "Show the machine code of the kernel at point with what each instruction costs."
  (interactive)
  (let* ((listing (hipscope--ask :hipscope/isa (hipscope--here)))
         (code (append (plist-get listing :instructions) nil)))
    (with-current-buffer (get-buffer-create "*hipscope isa*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (remove-overlays nil nil 'hipscope t)
        (insert (format "; %s: share of %s cycles\n" (plist-get listing :kernel) (plist-get listing :provenance)))
        (dolist (one code)
          (let ((share (plist-get one :share)) (line (plist-get one :line)))
            (insert (if (>= share 0.005) (format "%3.0f %%  " (* 100 share)) "       ") (plist-get one :text)
                    (if (integerp line) (format "  ; line %d" (1+ line)) "") "\n")))
        (cl-loop for one in code for number from 1 do (hipscope--shade number (plist-get one :share)))
        (goto-char (point-min)))
      (special-mode)
      (display-buffer (current-buffer)))))

;; The kernel around point, else the costliest of the program.
(defun hipscope--kernel ()
  "The kernel that point is in, or the costliest; an error where nothing was profiled."
  (let* ((here (hipscope--here))
         (line (plist-get (plist-get here :position) :line))
         (rows (append (plist-get (hipscope--ask :hipscope/kernels (list :uri (plist-get here :uri))) :kernels) nil))
         (start (lambda (row) (plist-get (plist-get (plist-get row :range) :start) :line)))
         (above (cl-remove-if-not (lambda (row) (and (equal (plist-get row :uri) (plist-get here :uri))
                                                     (<= (funcall start row) line)))
                                  rows)))
    (or (car (sort above (lambda (a b) (> (funcall start a) (funcall start b)))))
        (car rows)
        (user-error "No profile yet: save a HIP program, or M-x hipscope-profile"))))

(defun hipscope--show (name text)
  "Show TEXT in the buffer NAME."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t)) (erase-buffer) (insert text) (goto-char (point-min)))
    (special-mode)
    (display-buffer (current-buffer))))

(defun hipscope-roofline ()
  "Show what binds the kernel at point, with its roofline."
  (interactive)
  (let* ((kernel (hipscope--kernel))
         (hover (hipscope--ask :textDocument/hover
                               (list :textDocument (list :uri (plist-get kernel :uri))
                                     :position (plist-get (plist-get kernel :range) :start)))))
    (hipscope--show "*hipscope roofline*" (plist-get (plist-get hover :contents) :value))))

(defun hipscope-explain ()
  "Explain the line at point: cause, consequence, remedy."
  (interactive)
  (hipscope--show "*hipscope line*" (plist-get (hipscope--ask :hipscope/explain (hipscope--here)) :plain)))

(defun hipscope-history ()
  "List the profiles of this project, the newest first; RET on one compares it with the newest."
  (interactive)
  (let* ((server (eglot--current-server-or-lose))
         (uri (plist-get (hipscope--here) :uri))
         (profiles (append (plist-get (hipscope--ask :hipscope/history (list :uri uri)) :profiles) nil))
         (newest (plist-get (car profiles) :id)))
    (unless profiles (user-error "No profile yet: save a HIP program, or M-x hipscope-profile"))
    (hipscope--show "*hipscope history*" "")
    (with-current-buffer "*hipscope history*"
      (let ((inhibit-read-only t))
        (dolist (profile profiles)
          (let ((id (plist-get profile :id)) (commit (plist-get profile :commit)))
            (insert-text-button
             (concat (if (string-empty-p commit) "-" (substring commit 0 7)) (if (eq (plist-get profile :dirty) t) "+" "")
                     "  " (substring (plist-get profile :time) 0 16))
             'action (lambda (_)
                       (jsonrpc-request server :workspace/executeCommand
                                        (list :command "hipscope.server.compare"
                                              :arguments (vector (list :uri uri :a id :b newest))))))
            (mapc (lambda (kernel)
                    (insert (format "  %s %.1f us" (plist-get kernel :name) (/ (plist-get kernel :timeNs) 1000.0))))
                  (plist-get profile :kernels))
            (insert "\n")))))))

(provide 'hipscope)
;;; hipscope.el ends here
