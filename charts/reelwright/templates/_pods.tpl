{{/*
Common parts of the deployments. All take one component: (dict "root" $ "component" "api" "values" .Values.api).
*/}}

{{/* Metadata of a pod. Takes the component's settings as well: a pod is replaced when a setting or a secret of the values changes. */}}
{{- define "reelwright.podMetadata" -}}
labels:
  {{- include "reelwright.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/settings: {{ sha256sum .settings }}
  checksum/secrets: {{ toJson (list .root.Values.secrets .root.Values.storage) | sha256sum }}
  {{- with .values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Identity, security, volumes and scheduling of a pod. */}}
{{- define "reelwright.podSettings" -}}
serviceAccountName: {{ include "reelwright.serviceAccountName" . }}
enableServiceLinks: false
terminationGracePeriodSeconds: 40
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
  {{- if include "reelwright.hasCaBundle" .root }}
  - name: ca-bundle
    {{- include "reelwright.caVolume" .root.Values.caBundle | nindent 4 }}
  {{- end }}
  {{- with .values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml . | nindent 4 | trim }}
    {{- if not .labelSelector }}
    labelSelector:
      matchLabels: {{- include "reelwright.selector" $ | nindent 8 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The source of the volume with the CA bundle. Takes values `caBundle`. */}}
{{- define "reelwright.caVolume" -}}
{{- if .configMap -}}
configMap:
  name: {{ .configMap }}
{{- else -}}
secret:
  secretName: {{ .secret }}
{{- end }}
  items:
    - key: {{ .key }}
      path: ca.crt
{{- end }}

{{/* Image, settings, security, probes and resources of a container. */}}
{{- define "reelwright.containerSettings" -}}
image: {{ include "reelwright.imageReference" (dict "root" .root "image" .root.Values.image) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
envFrom:
  - configMapRef:
      name: {{ include "reelwright.fullname" .root }}-{{ .component }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if include "reelwright.hasCaBundle" .root }}
  - name: ca-bundle
    mountPath: /etc/reelwright/ca
    readOnly: true
  {{- end }}
  {{- with .values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
startupProbe:
  httpGet: { path: /healthz, port: {{ .probes | default "http" }} }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: {{ .probes | default "http" }} }
  periodSeconds: 10
  timeoutSeconds: 3
resources: {{- toYaml .values.resources | nindent 2 }}
{{- end }}
