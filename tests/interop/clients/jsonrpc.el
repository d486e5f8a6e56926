;; Emacs' own JSON-RPC library over the daemon's socket -*- lexical-binding: t -*-
(require 'jsonrpc)
(let* ((process (make-network-process :name "subagentd" :family 'local :service (getenv "SOCKET")))
       (events 0)
       (connection (make-instance 'jsonrpc-process-connection :name "subagentd" :process process
                                  :notification-dispatcher (lambda (_ method _params)
                                                             (when (eq method 'event) (setq events (1+ events))))))
       (status (jsonrpc-request connection 'daemon/status (make-hash-table) :timeout 10))
       (session (plist-get (jsonrpc-request connection 'session/create (list :workspace (getenv "WORKSPACE"))) :sessionId)))
  (jsonrpc-request connection 'session/attach (list :sessionId session :from "start") :timeout 10)
  ;; Older versions leave what came in one piece with an answer until more comes.
  (jsonrpc-request connection 'ping (make-hash-table) :timeout 10)
  (with-timeout (10 (message "no events") (kill-emacs 1)) (while (zerop events) (accept-process-output process 0.1)))
  (condition-case nil (progn (jsonrpc-request connection 'no/such nil) (kill-emacs 1)) (jsonrpc-error nil))
  (princ (format "\"pid\":%d\n" (plist-get (plist-get status :daemon) :pid))))
