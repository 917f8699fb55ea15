;;; draftline.el --- Ghost text from a model on your own machine -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (lsp-mode "10.0.0"))
;; Keywords: completion, languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; draftline is a language server, and lsp-mode (10 or newer) shows its ghost
;; text.  This package registers the server, beside whatever other server a file
;; has, and adds what lsp-mode has not: taking a word or a line, and a Tab that
;; still indents.
;;
;;   (require 'draftline)
;;   (draftline-setup)
;;   (add-hook 'prog-mode-hook #'lsp)

;;; Code:

(require 'lsp-mode)
(require 'lsp-inline-completion)

(defgroup draftline nil
  "Ghost text from a model on your own machine."
  :group 'lsp-mode)

(defcustom draftline-command '("draftline" "serve")
  "The program that serves one Emacs."
  :type '(repeat string))

(defcustom draftline-settings nil
  "Settings of the server, as in (:multiline \"never\" :maxTokens 32)."
  :type 'plist)

(defcustom draftline-idle-delay 0.2
  "Seconds without a key after which ghost text is asked for."
  :type 'number)

(defvar draftline-status nil
  "What the server has said last.
A plist of :state, :message, :model, and of an error :remedy.")

(defvar draftline-status-hook nil
  "Run when `draftline-status' has changed.")

(defun draftline--follow (_workspace status)
  "Keep STATUS."
  (setq draftline-status
        (mapcan (lambda (key) (list (intern (concat ":" key)) (lsp-get status (intern (concat ":" key)))))
                '("state" "message" "model" "remedy")))
  (run-hooks 'draftline-status-hook))

;;;; Steps

(defun draftline--item ()
  "The item that is shown; nil where none is."
  (and (lsp-inline-completion--active-p)
       (elt lsp-inline-completion--items lsp-inline-completion--current)))

(defun draftline--start (item)
  "Where the text of ITEM will begin."
  (if-let* ((range (lsp:inline-completion-item-range? item)))
      (lsp--position-to-point (lsp:range-start range))
    lsp-inline-completion--start-point))

(defun draftline--word-length (text)
  "Length of the first step in TEXT.
That is the blanks, and a word, a sign, or of Chinese and Japanese one character."
  (string-match "\\`[ \t\n]*\\(?:\\cC\\|\\cH\\|\\cK\\|\\(?:\\sw\\|\\s_\\)+?\\(?:\\b\\|\\_>\\)\\|[^ \t\n]\\)" text)
  (match-end 0))

(defun draftline--line-length (text)
  "Length of TEXT to the end of the first line on which something stands."
  (string-match "\\`[ \t\n]*[^\n]*" text)
  (match-end 0))

(defun draftline--take (length-of)
  "Take so much of the ghost text as LENGTH-OF says, and show the rest."
  (let* ((item (draftline--item))
         (text (lsp:inline-completion-item-insert-text item))
         (length (funcall length-of text))
         (start (draftline--start item))
         (end lsp-inline-completion--start-point))
    (undo-boundary)
    (if (= length (length text))
        (lsp-inline-completion-accept)
      (lsp-inline-completion-cancel)
      (delete-region start end)
      (insert (substring text 0 length))
      (lsp-inline-completion-display t))
    (undo-boundary)))

(defun draftline-accept-word ()
  "Take a word of the ghost text; of Chinese and Japanese one character."
  (interactive)
  (draftline--take #'draftline--word-length))

(defun draftline-accept-line ()
  "Take a line of the ghost text."
  (interactive)
  (draftline--take #'draftline--line-length))

(defun draftline--indented-p ()
  "Whether the ghost text begins with blanks on a line of blanks."
  (and (string-blank-p (buffer-substring (line-beginning-position) (line-end-position)))
       (let ((item (draftline--item)))
         (and (= (draftline--start item) lsp-inline-completion--start-point)
              (string-match-p "\\`[ \t]+[^ \t\n]" (lsp:inline-completion-item-insert-text item))))))

(defun draftline-accept-or-indent ()
  "Take the ghost text; where the line is blank and less indented than that, indent."
  (interactive)
  (if (not (draftline--indented-p))
      (draftline--take #'length)
    (lsp-inline-completion-cancel)
    (indent-for-tab-command)))

(dolist (binding '(("TAB" . draftline-accept-or-indent)
                   ("<tab>" . draftline-accept-or-indent)
                   ("C-<right>" . draftline-accept-word)
                   ("M-f" . draftline-accept-word)
                   ("C-<down>" . draftline-accept-line)
                   ("C-e" . draftline-accept-line)))
  (lsp-inline-completion--define-key lsp-inline-completion-active-map (kbd (car binding)) (cdr binding) 'keep))

;;;; The server

;;;###autoload
(defun draftline-setup ()
  "Have lsp-mode start draftline for every file, and ask it soon after a key."
  (setq lsp-inline-completion-idle-delay draftline-idle-delay)
  (lsp-register-client
   (make-lsp-client
    :new-connection (lsp-stdio-connection (lambda () draftline-command))
    :activation-fn (lambda (&rest _) t)
    :server-id 'draftline
    :add-on? t
    :priority -1
    :initialization-options (lambda () draftline-settings)
    :notification-handlers (lsp-ht ("draftline/status" #'draftline--follow)))))

(provide 'draftline)
;;; draftline.el ends here
