{{/* The value of app.kubernetes.io/name. */}}
{{- define "reelwright.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* The prefix of every object's name. */}}
{{- define "reelwright.fullname" -}}
{{- $name := include "reelwright.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The namespace of MediaJobs, RunnerPools, their Jobs, pods and Secrets. */}}
{{- define "reelwright.runnersNamespace" -}}
{{ .Values.runners.namespace | default (printf "%s-runners" (include "reelwright.fullname" .)) }}
{{- end }}

{{/* The reference of an image: (dict "root" $ "image" .Values.runnerImage) */}}
{{- define "reelwright.imageReference" -}}
{{- $name := printf "%s/%s" .root.Values.image.registry .image.repository -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/*
The helpers below take one component of the chart: (dict "root" $ "component" "api" "values" .Values.api).
*/}}

{{/* The labels that select the pods of a component. */}}
{{- define "reelwright.selector" -}}
app.kubernetes.io/name: {{ include "reelwright.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* All labels of an object. */}}
{{- define "reelwright.labels" -}}
{{ include "reelwright.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The name of the service account of a component. */}}
{{- define "reelwright.serviceAccountName" -}}
{{- with .values.serviceAccount -}}
{{- if .create -}}
{{ .name | default (printf "%s-%s" (include "reelwright.fullname" $.root) $.component) }}
{{- else -}}
{{ .name | default "default" }}
{{- end -}}
{{- end -}}
{{- end }}
