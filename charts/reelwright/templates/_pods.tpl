{{/*
What the deployments have in common. All take one component: (dict "root" $ "component" "api" "values" .Values.api).
*/}}

{{/* Metadata of a pod. */}}
{{- define "reelwright.podMetadata" -}}
labels: {{- include "reelwright.labels" . | nindent 2 }}
annotations:
  # A changed secret or setting restarts the pods.
  checksum/secrets: {{ toJson (list .root.Values.secrets .root.Values.storage .root.Values.config) | sha256sum }}
{{- end }}

{{/* Identity, security and scheduling of a pod. */}}
{{- define "reelwright.podSettings" -}}
serviceAccountName: {{ include "reelwright.fullname" .root }}-{{ .component }}
enableServiceLinks: false
terminationGracePeriodSeconds: 40
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- else }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "reelwright.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Image, security and resources of a container. */}}
{{- define "reelwright.containerSettings" -}}
image: {{ include "reelwright.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{- toYaml .values.resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 3
{{- end }}
