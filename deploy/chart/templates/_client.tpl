{{/* Parts of pods that send statements to the leader */}}

{{- define "jetsql.clientPod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: Never
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "jetsql.podSecurity" . | nindent 2 }}
{{- end }}

{{- define "jetsql.clientContainer" -}}
image: {{ include "jetsql.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - { name: JETSQL_URL, value: {{ include "jetsql.url" . | quote }} }
  - name: JETSQL_TOKEN
    valueFrom:
      secretKeyRef: { name: {{ .Values.token.existingSecret }}, key: {{ .Values.token.key }} }
  {{- if and .Values.tls.existingSecret .Values.tls.caKey }}
  - { name: JETSQL_CA_FILE, value: /run/secrets/jetsql-tls/{{ .Values.tls.caKey }} }
  {{- end }}
securityContext:
  {{- include "jetsql.containerSecurity" . | nindent 2 }}
resources:
  {{- toYaml .Values.apply.resources | nindent 2 }}
{{- end }}

{{- define "jetsql.clientMounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: tmp, mountPath: /var/cache/jetsql }
{{- if and .Values.tls.existingSecret .Values.tls.caKey }}
- { name: authority, mountPath: /run/secrets/jetsql-tls, readOnly: true }
{{- end }}
{{- end }}

{{/* The key of the certificate is not part of the volume. */}}
{{- define "jetsql.clientVolumes" -}}
- { name: tmp, emptyDir: {} }
{{- if and .Values.tls.existingSecret .Values.tls.caKey }}
- name: authority
  secret:
    secretName: {{ .Values.tls.existingSecret }}
    items: [{ key: {{ .Values.tls.caKey }}, path: {{ .Values.tls.caKey }} }]
{{- end }}
{{- end }}
