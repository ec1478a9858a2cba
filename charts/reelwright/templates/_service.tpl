{{/*
The objects beside each deployment. All take one component: (dict "root" $ "component" "api" "values" .Values.api).
*/}}

{{/* Takes the component's settings as well. */}}
{{- define "reelwright.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "reelwright.fullname" .root }}-{{ .component }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
data: {{- .settings | nindent 2 }}
{{- end }}

{{- define "reelwright.serviceAccount" -}}
{{- if .values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "reelwright.serviceAccountName" . }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
  {{- with .values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
# The deployments say themselves whether their pods get a token.
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- define "reelwright.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "reelwright.fullname" .root }}-{{ .component }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
  {{- with .values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector: {{- include "reelwright.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .values.service.port }}
      targetPort: http
{{- end }}

{{- define "reelwright.podDisruptionBudget" -}}
{{- if .values.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "reelwright.fullname" .root }}-{{ .component }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "reelwright.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* A HorizontalPodAutoscaler, or with keda.enabled a ScaledObject. */}}
{{- define "reelwright.autoscaler" -}}
{{- if and .values.autoscaling.enabled .root.Values.keda.enabled }}
{{- include "reelwright.scaledObject" . }}
{{- else if .values.autoscaling.enabled }}
{{- include "reelwright.horizontalPodAutoscaler" . }}
{{- end }}
{{- end }}

{{- define "reelwright.horizontalPodAutoscaler" -}}
{{- $name := printf "%s-%s" (include "reelwright.fullname" .root) .component -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $name }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.targetCPUUtilizationPercentage }}
{{- end }}

{{- define "reelwright.scaledObject" -}}
{{- $name := printf "%s-%s" (include "reelwright.fullname" .root) .component -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    name: {{ $name }}
  minReplicaCount: {{ .values.autoscaling.minReplicas }}
  maxReplicaCount: {{ .values.autoscaling.maxReplicas }}
  triggers:
    - type: prometheus
      metadata:
        serverAddress: {{ required "keda.prometheusAddress is needed for KEDA" .root.Values.keda.prometheusAddress | quote }}
        query: sum(rate(svc_http_requests_total{job="{{ $name }}"}[1m]))
        threshold: '200'
{{- end }}
