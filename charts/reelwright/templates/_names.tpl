{{/* The prefix of every object's name. */}}
{{- define "reelwright.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The namespace of MediaJobs, RunnerPools, their Jobs, pods and Secrets. */}}
{{- define "reelwright.runnersNamespace" -}}
{{ .Values.runners.namespace | default (printf "%s-runners" (include "reelwright.fullname" .)) }}
{{- end }}

{{- define "reelwright.image" -}}
{{ .Values.image.registry }}/{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "reelwright.runnerImage" -}}
{{ .Values.image.registry }}/{{ .Values.runnerImage.repository }}:{{ .Values.runnerImage.tag | default .Chart.AppVersion }}
{{- end }}

{{/*
The helpers below take one component of the chart: (dict "root" $ "component" "api" "values" .Values.api).
*/}}

{{/* The labels that select the pods of a component. */}}
{{- define "reelwright.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* All labels of an object. */}}
{{- define "reelwright.labels" -}}
{{ include "reelwright.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}
