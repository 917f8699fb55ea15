;;; e2e.el --- Plays a scenario in a batch Emacs -*- lexical-binding: t; -*-

;; E2E_SCENARIO names a JSON file: {"file", "plugin", "steps"}; each step is one of
;;   {"type": "text"}     inserts a text as keys do
;;   {"goto": "text"}     puts point behind the first occurrence of a text
;;   {"ask": true}        asks as the idle timer does, until there is ghost text
;;   {"call": "command"}  runs a command
;;   {"snapshot": "name"} keeps what Emacs shows now under that name
;; E2E_REPORT names the JSON file to write: encoding, snapshots.

;;; Code:

(require 'json)

(set-language-environment "UTF-8")

(defvar e2e-scenario (with-temp-buffer
                       (insert-file-contents (getenv "E2E_SCENARIO"))
                       (json-parse-buffer :object-type 'alist :array-type 'list)))
(defvar e2e-snapshots nil)

(add-to-list 'load-path (alist-get 'plugin e2e-scenario))
(require 'draftline)

(defun e2e-wait (what condition)
  "Wait until CONDITION returns non-nil; fail, naming WHAT, after 20 seconds."
  (let ((deadline (+ (float-time) 20)))
    (while (not (funcall condition))
      (when (> (float-time) deadline)
        (error "Waited 20 s for: %s" what))
      (accept-process-output nil 0.02))))

(defun e2e-ghost ()
  "The ghost text that stands behind point; nil where there is none."
  (when (lsp-inline-completion--active-p)
    (lsp:inline-completion-item-insert-text
     (elt lsp-inline-completion--items lsp-inline-completion--current))))

(defun e2e-drawn ()
  "The ghost text as the overlay draws it; empty where there is none."
  (if (lsp-inline-completion--active-p)
      (substring-no-properties (or (overlay-get lsp-inline-completion--overlay 'after-string) ""))
    ""))

(defun e2e-place ()
  "Where one writes: lsp-mode has point before that while it draws ghost text at the end of a line."
  (if (lsp-inline-completion--active-p) lsp-inline-completion--start-point (point)))

(defun e2e-snapshot (name)
  "Keep what is shown under NAME."
  (push (cons (intern name)
              `((text . ,(buffer-substring-no-properties (point-min) (point-max)))
                (before . ,(buffer-substring-no-properties (point-min) (e2e-place)))
                (ghost . ,(or (e2e-ghost) ""))
                (drawn . ,(e2e-drawn))))
        e2e-snapshots))

(defun e2e-command (command)
  "Run COMMAND as a key does."
  (setq last-command this-command
        this-command command)
  (run-hooks 'pre-command-hook)
  (undo-boundary)
  (call-interactively this-command)
  (run-hooks 'post-command-hook))

(defun e2e-type (text)
  "Type TEXT."
  (dolist (character (string-to-list text))
    (setq last-command-event character)
    (e2e-command #'self-insert-command)))

(defun e2e-step (step)
  "Do a STEP."
  (pcase step
    (`((type . ,text)) (e2e-type text))
    (`((goto . ,text)) (goto-char (point-min)) (search-forward text))
    (`((ask . ,_)) (e2e-wait "ghost text" (lambda () (lsp-inline-completion-display t) (e2e-ghost))))
    (`((call . ,name)) (e2e-command (intern name)))
    (`((snapshot . ,name)) (e2e-snapshot name))))

(defun e2e-play ()
  "Play the scenario."
  (setq lsp-auto-guess-root t
        lsp-enabled-clients '(draftline) ; not what else is on the PATH
        lsp-lens-enable nil
        lsp-enable-snippet nil
        lsp-enable-file-watchers nil
        lsp-session-file (expand-file-name "session" temporary-file-directory)
        indent-tabs-mode nil
        python-indent-guess-indent-offset nil)
  (draftline-setup)
  (find-file (alist-get 'file e2e-scenario))
  (buffer-enable-undo)
  (lsp-workspace-folders-add default-directory)
  (lsp)
  (e2e-wait "the server" (lambda () (equal (plist-get draftline-status :state) "ready")))
  (mapc #'e2e-step (alist-get 'steps e2e-scenario)))

(condition-case failure
    (e2e-play)
  (error (push `(failure . ,(error-message-string failure)) e2e-scenario)))

(let ((coding-system-for-write 'utf-8))
  (with-temp-file (getenv "E2E_REPORT")
    (insert (json-serialize `((failure . ,(or (alist-get 'failure e2e-scenario) ""))
                              (status . ,(or (plist-get draftline-status :message) ""))
                              (snapshots . ,(or e2e-snapshots (make-hash-table))))))))
(kill-emacs 0)

;;; e2e.el ends here
