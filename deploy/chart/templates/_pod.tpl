{{/* The pod of an engine, and parts that other pods share */}}

{{/* The restricted level of Kubernetes's Pod Security Standards */}}
{{- define "jetsql.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "jetsql.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Where checkpoints and tables are */}}
{{- define "jetsql.storage" -}}
{{ .Values.storage.existingClaim | empty | ternary .Values.storage.uri "/srv/jetsql" }}
{{- end }}

{{/* Refuse settings in config.toml that the environment would override */}}
{{- define "jetsql.checkConfig" -}}
{{- $own := list "home" "http_host" "http_port" "http_hosts" "pod_selector" "driver_memory" "connect" "connect_host" "connect_port" "thrift" "thrift_host" "thrift_port" "tls_cert" "tls_key" "store" "store_password" "storage" "s3_endpoint" "s3_region" "s3_path_style" "s3_access_key" "s3_secret_key" "kubernetes_jobs_user" -}}
{{- if .Values.store.existingSecret }}{{ $own = append $own "catalog" }}{{ end -}}
{{- if .Values.executors.enabled }}{{ $own = append $own "master" }}{{ end -}}
{{- range $own }}
{{- if regexMatch (printf `(?m)^[ \t]*"?%s"?[ \t]*=` .) $.Values.config }}
{{- fail (printf "config contains %s, which other values of this chart set. Remove it from config." .) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "jetsql.engineEnv" -}}
- { name: JETSQL_HOME, value: /var/lib/jetsql/home }
- { name: JETSQL_CONFIG, value: /etc/jetsql/config.toml }
- { name: JETSQL_DRIVER_MEMORY, value: {{ .Values.engine.driverMemory | quote }} }
- { name: JETSQL_HTTP_HOST, value: "0.0.0.0" }
- { name: JETSQL_HTTP_PORT, value: {{ .Values.service.port | quote }} }
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- $name := include "jetsql.fullname" . }}
{{- $host := include "jetsql.host" . }}
- name: JETSQL_HTTP_HOSTS # the first is the address that an engine announces; monitoring uses that of the pod
  value: {{ concat (list $host (printf "%s.cluster.local" $host) (printf "%s.%s" $name .Release.Namespace) $name "$(POD_IP)") .Values.service.hosts | join "," | quote }}
{{- if .Values.tls.existingSecret }}
- { name: JETSQL_TLS_CERT, value: /run/secrets/jetsql-tls/tls.crt }
- { name: JETSQL_TLS_KEY, value: /run/secrets/jetsql-tls/tls.key }
{{- end }}
- { name: JETSQL_CONNECT, value: {{ .Values.connect.enabled | quote }} }
{{- if .Values.connect.enabled }}
- { name: JETSQL_CONNECT_HOST, value: "0.0.0.0" }
- { name: JETSQL_CONNECT_PORT, value: {{ .Values.connect.port | quote }} }
{{- end }}
- { name: JETSQL_THRIFT, value: {{ .Values.thrift.enabled | quote }} }
{{- if .Values.thrift.enabled }}
- { name: JETSQL_THRIFT_HOST, value: "0.0.0.0" }
- { name: JETSQL_THRIFT_PORT, value: {{ .Values.thrift.port | quote }} }
{{- end }}
{{- with .Values.store }}
{{- if .existingSecret }}
- { name: JETSQL_STORE, value: "secret:file:/run/secrets/jetsql-store/{{ .urlKey }}" }
{{- if .passwordKey }}
- { name: JETSQL_STORE_PASSWORD, value: "secret:file:/run/secrets/jetsql-store/{{ .passwordKey }}" }
{{- end }}
- { name: JETSQL_CATALOG, value: postgresql }
- { name: JETSQL_POD_SELECTOR, value: {{ include "jetsql.engineSelector" $ | replace ": " "=" | replace "\n" "," | quote }} }
{{- end }}
{{- end }}
{{- with include "jetsql.storage" . }}
- { name: JETSQL_STORAGE, value: {{ . | quote }} }
{{- end }}
{{- with .Values.s3 }}
{{- with .endpoint }}
- { name: JETSQL_S3_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- with .region }}
- { name: JETSQL_S3_REGION, value: {{ . | quote }} }
{{- end }}
{{- if .pathStyle }}
- { name: JETSQL_S3_PATH_STYLE, value: "true" }
{{- end }}
{{- if .existingSecret }}
- { name: JETSQL_S3_ACCESS_KEY, value: "secret:file:/run/secrets/jetsql-s3/{{ .accessKeyKey }}" }
- { name: JETSQL_S3_SECRET_KEY, value: "secret:file:/run/secrets/jetsql-s3/{{ .secretKeyKey }}" }
{{- end }}
{{- end }}
{{- with .Values.jobResources.user }}
- { name: JETSQL_KUBERNETES_JOBS_USER, value: {{ . | quote }} }
{{- end }}
{{- if .Values.executors.enabled }}
- { name: JETSQL_MASTER, value: k8s }
- { name: JETSQL_CONF, value: {{ include "jetsql.executorConf" . | quote }} }
{{- end }}
{{- with .Values.engine.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Spark's settings for executors. Those of the volumes keep Spark from asking for claims, for which there is no right.
     Without the timeout, an executor with rows of a shuffle stays until Java collects its garbage. */}}
{{- define "jetsql.executorConf" -}}
{{- with .Values.executors -}}
spark.kubernetes.executor.podTemplateFile=/etc/jetsql/executor.yaml spark.kubernetes.executor.podTemplateContainerName=executor spark.kubernetes.driver.ownPersistentVolumeClaim=false spark.kubernetes.driver.reusePersistentVolumeClaim=false spark.executor.cores={{ .cores }} spark.executor.memory={{ .memory }} spark.executor.memoryOverhead={{ .memoryOverhead }}
{{- if .dynamicAllocation.enabled }} spark.dynamicAllocation.enabled=true spark.dynamicAllocation.shuffleTracking.enabled=true spark.dynamicAllocation.shuffleTracking.timeout=60s spark.dynamicAllocation.minExecutors={{ .dynamicAllocation.min }} spark.dynamicAllocation.maxExecutors={{ .dynamicAllocation.max }}
{{- else }} spark.executor.instances={{ .instances }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "jetsql.engineMounts" -}}
- { name: home, mountPath: /var/lib/jetsql }
- { name: cache, mountPath: /var/cache/jetsql }
- { name: tmp, mountPath: /tmp }
- { name: config, mountPath: /etc/jetsql, readOnly: true }
- { name: token, mountPath: /run/secrets/jetsql-token, readOnly: true }
{{- if .Values.tls.existingSecret }}
- { name: tls, mountPath: /run/secrets/jetsql-tls, readOnly: true }
{{- end }}
{{- if .Values.store.existingSecret }}
- { name: store, mountPath: /run/secrets/jetsql-store, readOnly: true }
{{- end }}
{{- if .Values.s3.existingSecret }}
- { name: s3, mountPath: /run/secrets/jetsql-s3, readOnly: true }
{{- end }}
{{- if .Values.storage.existingClaim }}
- { name: storage, mountPath: /srv/jetsql }
{{- end }}
{{- range $number, $secret := .Values.secrets }}
- { name: secret-{{ $number }}, mountPath: /run/secrets/{{ $secret }}, readOnly: true }
{{- end }}
{{- with .Values.engine.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "jetsql.engineVolumes" -}}
{{- if .Values.store.existingSecret }}
- { name: home, emptyDir: {} } # store, catalogue and storage are elsewhere
{{- end }}
- { name: cache, emptyDir: {} }
- { name: tmp, emptyDir: {} }
- name: config
  configMap: { name: {{ include "jetsql.configName" . }} }
- name: token
  secret:
    secretName: {{ .Values.token.existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ .Values.token.key }}, path: token }]
{{- with .Values.tls.existingSecret }}
- name: tls
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.store.existingSecret }}
- name: store
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.s3.existingSecret }}
- name: s3
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.storage.existingClaim }}
- name: storage
  persistentVolumeClaim: { claimName: {{ . }} }
{{- end }}
{{- range $number, $secret := .Values.secrets }}
- name: secret-{{ $number }}
  secret: { secretName: {{ $secret }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.engine.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The engine refuses requests for host names that it does not know, so that the name is part of a probe. */}}
{{- define "jetsql.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ include "jetsql.scheme" .root | upper }}
  httpHeaders: [{ name: Host, value: localhost }]
{{- end }}

{{- define "jetsql.enginePod" -}}
metadata:
  labels:
    {{- include "jetsql.labels" . | nindent 4 }}
    app.kubernetes.io/component: engine
    {{- with .Values.engine.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: engine
    {{- with .Values.engine.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "jetsql.serviceAccount" . }}
  automountServiceAccountToken: {{ include "jetsql.callsApi" . | eq "true" }}
  enableServiceLinks: false # the variables of a Service named jetsql would begin like those of settings
  terminationGracePeriodSeconds: {{ .Values.engine.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- include "jetsql.podSecurity" . | nindent 4 }}
  {{- with .Values.engine.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.engine.topologySpreadConstraints }}
    {{- toYaml .Values.engine.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "jetsql.engineSelector" . | nindent 10 }}
    {{- end }}
  initContainers:
    # The home is a folder in the volume: the group of the pod can write to the volume itself, and an engine refuses such a
    # home. All engines have the token of the Secret.
    - name: token
      image: {{ include "jetsql.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - sh
        - -ec
        - |
          install -d -m 700 "$JETSQL_HOME"
          install -m 600 /run/secrets/jetsql-token/token "$JETSQL_HOME/engine.token"
          touch "$JETSQL_HOME/engine.log"
          chmod 600 "$JETSQL_HOME/engine.log"
      env: [{ name: JETSQL_HOME, value: /var/lib/jetsql/home }]
      securityContext:
        {{- include "jetsql.containerSecurity" . | nindent 8 }}
      resources: &small
        requests: { cpu: 10m, memory: 32Mi }
        limits: { memory: 32Mi }
      volumeMounts:
        - { name: home, mountPath: /var/lib/jetsql }
        - { name: token, mountPath: /run/secrets/jetsql-token, readOnly: true }
    # The engine logs to a file, because Spark's log would hide its messages.
    - name: log
      image: {{ include "jetsql.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      restartPolicy: Always
      command: [tini, --, tail, -n, "0", -F, /var/lib/jetsql/home/engine.log] # the first process ignores SIGTERM
      securityContext:
        {{- include "jetsql.containerSecurity" . | nindent 8 }}
      resources: *small
      volumeMounts:
        - { name: home, mountPath: /var/lib/jetsql, readOnly: true }
  containers:
    - name: engine
      image: {{ include "jetsql.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        {{- include "jetsql.engineEnv" . | nindent 8 }}
      ports:
        - { name: http, containerPort: {{ .Values.service.port }} }
        {{- if .Values.connect.enabled }}
        - { name: connect, containerPort: {{ .Values.connect.port }} }
        {{- end }}
        {{- if .Values.thrift.enabled }}
        - { name: thrift, containerPort: {{ .Values.thrift.port }} }
        {{- end }}
      startupProbe: # Spark starts
        {{- include "jetsql.probe" (dict "root" . "path" "/healthz") | nindent 8 }}
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 150
      livenessProbe: # the process and its Spark answer, as a leader or as a standby
        {{- include "jetsql.probe" (dict "root" . "path" "/healthz") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe: # a leader takes statements, or a standby can take over
        {{- include "jetsql.probe" (dict "root" . "path" "/readyz") | nindent 8 }}
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 3
      securityContext:
        {{- include "jetsql.containerSecurity" . | nindent 8 }}
      resources:
        {{- toYaml .Values.engine.resources | nindent 8 }}
      volumeMounts:
        {{- include "jetsql.engineMounts" . | nindent 8 }}
  volumes:
    {{- include "jetsql.engineVolumes" . | trim | nindent 4 }}
{{- end }}
