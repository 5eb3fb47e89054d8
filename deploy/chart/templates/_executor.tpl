{{/* The template of the executors' pods, to which Spark adds its own settings */}}
{{- define "jetsql.executorPod" -}}
apiVersion: v1
kind: Pod
metadata:
  labels:
    {{- include "jetsql.labels" . | nindent 4 }}
    app.kubernetes.io/component: executor
    {{- with .Values.executors.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.executors.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.executors.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- include "jetsql.podSecurity" . | nindent 4 }}
  {{- with .Values.executors.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.executors.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.executors.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.executors.topologySpreadConstraints }}
    {{- toYaml .Values.executors.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: { spark-role: executor }
      matchLabelKeys: [spark-app-selector]
    {{- end }}
  containers:
    - name: executor
      securityContext:
        {{- include "jetsql.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if .Values.storage.existingClaim }}
        - { name: storage, mountPath: /srv/jetsql }
        {{- end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- with .Values.storage.existingClaim }}
    - name: storage
      persistentVolumeClaim: { claimName: {{ . }} }
    {{- end }}
{{- end }}
