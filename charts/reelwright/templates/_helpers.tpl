{{- define "reelwright.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "reelwright.runnersNamespace" -}}
{{ .Values.runners.namespace | default (printf "%s-runners" (include "reelwright.fullname" .)) }}
{{- end }}

{{- define "reelwright.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "reelwright.runnerImage" -}}
{{ .Values.runnerImage.repository }}:{{ .Values.runnerImage.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels of an object; call with (dict "root" $ "component" "api"). */}}
{{- define "reelwright.labels" -}}
{{ include "reelwright.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "reelwright.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* One secret as an environment variable; (dict "root" $ "name" "API_KEY" "from" .Values.secrets.apiKey). */}}
{{- define "reelwright.secretVariable" -}}
{{- if or .from.existingSecret .from.value .root.Values.dev.enabled }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .from.existingSecret | default (printf "%s-secrets" (include "reelwright.fullname" .root)) }}
      key: {{ ternary .from.key .name (ne .from.existingSecret "") }}
      optional: {{ .optional | default false }}
{{- end }}
{{- end }}

{{/* Bucket, endpoint and credentials of one store; (dict "root" $ "prefix" "SOURCE" "store" .Values.storage.source "isDev" …). */}}
{{- define "reelwright.storageVariables" -}}
{{- $store := .root.Values.dev.enabled | ternary (merge (dict "bucket" (printf "reelwright-%s" (lower .prefix)) "endpoint" (printf "http://%s-dev-s3.%s.svc:7070" (include "reelwright.fullname" .root) .root.Release.Namespace) "forcePathStyle" true) .store) .store }}
- { name: {{ .prefix }}_BUCKET, value: {{ required (printf "storage.%s.bucket is needed" (lower .prefix)) $store.bucket | quote }} }
{{- with $store.endpoint }}
- { name: {{ $.prefix }}_S3_ENDPOINT, value: {{ . | quote }} }
{{- end }}
- { name: {{ .prefix }}_S3_REGION, value: {{ $store.region | quote }} }
- { name: {{ .prefix }}_S3_FORCE_PATH_STYLE, value: {{ $store.forcePathStyle | quote }} }
{{- if or $store.existingSecret $store.accessKeyId .root.Values.dev.enabled }}
{{- range $key := list "ACCESS_KEY_ID" "SECRET_ACCESS_KEY" }}
- name: {{ $.prefix }}_S3_{{ $key }}
  valueFrom: { secretKeyRef: { name: {{ $store.existingSecret | default (printf "%s-%s-storage" (include "reelwright.fullname" $.root) (lower $.prefix)) }}, key: {{ $.prefix }}_S3_{{ $key }} } }
{{- end }}
{{- end }}
{{- end }}

{{/* A pod of the `reelwright` image: (dict "root" $ "component" "api" "settings" .Values.api "mode" "server" "env" <extra>). */}}
{{- define "reelwright.deployment" -}}
{{- $root := .root }}
{{- $name := printf "%s-%s" (include "reelwright.fullname" $root) .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  {{- if not (and .settings.autoscaling .settings.autoscaling.enabled) }}
  replicas: {{ .settings.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "reelwright.selector" . | nindent 6 }}
  strategy: { type: RollingUpdate, rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  template:
    metadata:
      labels: {{- include "reelwright.labels" . | nindent 8 }}
      annotations:
        # A changed secret or setting rolls the pods.
        checksum/secrets: {{ toJson (list $root.Values.secrets $root.Values.storage $root.Values.config) | sha256sum }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: {{ eq .component "controller" }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: 40
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext: { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: {{ .component }}
          image: {{ include "reelwright.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: ["--mode={{ .mode }}"]
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
          ports:
            - { name: http, containerPort: {{ eq .mode "worker" | ternary 3001 3000 }} }
          env:
            - { name: BASE_URL, value: {{ $root.Values.baseUrl | quote }} }
            {{- include "reelwright.secretVariable" (dict "root" $root "name" "DATABASE_URL" "from" $root.Values.secrets.databaseUrl) | nindent 12 }}
            {{- include "reelwright.secretVariable" (dict "root" $root "name" "REDIS_URL" "from" $root.Values.secrets.redisUrl) | nindent 12 }}
            {{- range $name, $value := .secrets }}
            {{- include "reelwright.secretVariable" (dict "root" $root "name" $name "from" (index $root.Values.secrets $value) "optional" (eq $name "THUMB_SECRET")) | nindent 12 }}
            {{- end }}
            {{- include "reelwright.storageVariables" (dict "root" $root "prefix" "SOURCE" "store" $root.Values.storage.source) | nindent 12 }}
            {{- include "reelwright.storageVariables" (dict "root" $root "prefix" "MEDIA" "store" $root.Values.storage.media) | nindent 12 }}
            {{- range $key, $value := .env }}
            - { name: {{ $key }}, value: {{ $value | quote }} }
            {{- end }}
            {{- range $key, $value := $root.Values.config }}
            - { name: {{ $key }}, value: {{ $value | quote }} }
            {{- end }}
          {{- if eq .component "controller" }}
            - { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
            - { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
          {{- end }}
          startupProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 1, failureThreshold: 60 }
          livenessProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 10, timeoutSeconds: 3 }
          {{- if ne .mode "worker" }}
          # Streams play on while Redis or Postgres is away, so delivery stays in its Service then.
          readinessProbe: { httpGet: { path: {{ eq .component "delivery" | ternary "/healthz" "/readyz" }}, port: http }, periodSeconds: 5, timeoutSeconds: 3 }
          {{- end }}
          {{- if ne .mode "worker" }}
          # Whoever routes to a pod hears of its end a moment later than the pod does.
          lifecycle: { preStop: { sleep: { seconds: 5 } } }
          {{- end }}
          resources: {{- toYaml .settings.resources | nindent 12 }}
          volumeMounts: [{ name: tmp, mountPath: /tmp }]
      volumes: [{ name: tmp, emptyDir: { sizeLimit: 256Mi } }]
      {{- with .settings.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .settings.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .settings.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- else }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: { matchLabels: {{ include "reelwright.selector" . | fromYaml | toJson }} }
      {{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
{{- end }}

{{/* A Service, PodDisruptionBudget and autoscaler beside a deployment. */}}
{{- define "reelwright.scaling" -}}
{{- $name := printf "%s-%s" (include "reelwright.fullname" .root) .component }}
{{- if .settings.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  minAvailable: {{ .settings.podDisruptionBudget.minAvailable }}
  selector: { matchLabels: {{ include "reelwright.selector" . | fromYaml | toJson }} }
{{- end }}
{{- if .settings.service }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  type: {{ .settings.service.type }}
  selector: {{- include "reelwright.selector" . | nindent 4 }}
  ports: [{ name: http, port: {{ .settings.service.port }}, targetPort: http }]
{{- end }}
{{- if and .settings.autoscaling .settings.autoscaling.enabled (not .root.Values.keda.enabled) }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .settings.autoscaling.minReplicas }}
  maxReplicas: {{ .settings.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ .settings.autoscaling.targetCPUUtilizationPercentage }} } }
{{- end }}
{{- if and .settings.autoscaling .settings.autoscaling.enabled .root.Values.keda.enabled }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ $name }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { name: {{ $name }} }
  minReplicaCount: {{ .settings.autoscaling.minReplicas }}
  maxReplicaCount: {{ .settings.autoscaling.maxReplicas }}
  triggers:
    - type: prometheus
      metadata:
        serverAddress: {{ required "keda.prometheusAddress is needed for KEDA" .root.Values.keda.prometheusAddress | quote }}
        query: sum(rate(svc_http_requests_total{job="{{ $name }}"}[1m]))
        threshold: "200"
{{- end }}
{{- end }}
