{{/* Names, labels and addresses */}}

{{- define "jetsql.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "jetsql.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "jetsql.selector" -}}
app.kubernetes.io/name: {{ include "jetsql.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "jetsql.engineSelector" -}}
{{ include "jetsql.selector" . }}
app.kubernetes.io/component: engine
{{- end }}

{{- define "jetsql.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "jetsql.selector" . }}
{{- end }}

{{- define "jetsql.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The name of a ConfigMap with these contents. A kubelet can mount old contents into a new pod, so that new contents
     need a new name. */}}
{{- define "jetsql.nameOfContents" -}}
{{ printf "%s-%s" .name (.contents | sha256sum | trunc 10) }}
{{- end }}

{{- define "jetsql.configFiles" -}}
config.toml: |
  {{- .Values.config | nindent 2 }}
{{- if .Values.executors.enabled }}
executor.yaml: |
  {{- include "jetsql.executorPod" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "jetsql.configName" -}}
{{ include "jetsql.nameOfContents" (dict "name" (include "jetsql.fullname" .) "contents" (include "jetsql.configFiles" .)) }}
{{- end }}

{{- define "jetsql.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "jetsql.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{/* The name of the Service within the cluster, which the certificate needs */}}
{{- define "jetsql.host" -}}
{{ include "jetsql.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "jetsql.scheme" -}}
{{ empty .Values.tls.existingSecret | ternary "http" "https" }}
{{- end }}

{{- define "jetsql.url" -}}
{{ include "jetsql.scheme" . }}://{{ include "jetsql.host" . }}:{{ .Values.service.port }}
{{- end }}

{{/* Not empty if the pods call the API server: for executors, resources, and the label of the leader */}}
{{- define "jetsql.callsApi" -}}
{{- if or .Values.store.existingSecret .Values.executors.enabled .Values.jobResources.user }}true{{ end -}}
{{- end }}
