{{/*
One secret as an environment variable:
(dict "root" $ "name" "API_KEY" "from" .Values.secrets.apiKey "optional" false)
*/}}
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

{{/* The values of one store, as YAML; with dev.enabled those of the S3 server that the chart installs: (dict "root" $ "which" "source") */}}
{{- define "reelwright.store" -}}
{{- $store := index .root.Values.storage .which }}
{{- if .root.Values.dev.enabled }}
{{- $endpoint := printf "http://%s-dev-s3.%s.svc:7070" (include "reelwright.fullname" .root) .root.Release.Namespace }}
{{- $store = merge (dict "bucket" (printf "reelwright-%s" .which) "endpoint" $endpoint "forcePathStyle" true) $store }}
{{- end }}
{{- toYaml $store }}
{{- end }}

{{/* The name of the Secret with the credentials of one store: (dict "root" $ "which" "source") */}}
{{- define "reelwright.storeSecretName" -}}
{{- $store := index .root.Values.storage .which -}}
{{ $store.existingSecret | default (printf "%s-%s-storage" (include "reelwright.fullname" .root) .which) }}
{{- end }}

{{/* Bucket, endpoint and credentials of one store: (dict "root" $ "which" "source") */}}
{{- define "reelwright.storeVariables" -}}
{{- $prefix := upper .which }}
{{- $store := include "reelwright.store" . | fromYaml }}
- name: {{ $prefix }}_BUCKET
  value: {{ required (printf "storage.%s.bucket is needed" .which) $store.bucket | quote }}
{{- with $store.endpoint }}
- name: {{ $prefix }}_S3_ENDPOINT
  value: {{ . | quote }}
{{- end }}
- name: {{ $prefix }}_S3_REGION
  value: {{ $store.region | quote }}
- name: {{ $prefix }}_S3_FORCE_PATH_STYLE
  value: {{ $store.forcePathStyle | quote }}
{{- if or $store.existingSecret $store.accessKeyId .root.Values.dev.enabled }}
{{- $secretName := include "reelwright.storeSecretName" . }}
{{- range $key := list "ACCESS_KEY_ID" "SECRET_ACCESS_KEY" }}
- name: {{ $prefix }}_S3_{{ $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $secretName }}
      key: {{ $prefix }}_S3_{{ $key }}
{{- end }}
{{- end }}
{{- end }}

{{/* The variables that every deployment has. */}}
{{- define "reelwright.commonVariables" -}}
- name: BASE_URL
  value: {{ .Values.baseUrl | quote }}
{{- include "reelwright.secretVariable" (dict "root" . "name" "DATABASE_URL" "from" .Values.secrets.databaseUrl) }}
{{- include "reelwright.secretVariable" (dict "root" . "name" "REDIS_URL" "from" .Values.secrets.redisUrl) }}
{{- include "reelwright.storeVariables" (dict "root" . "which" "source") }}
{{- include "reelwright.storeVariables" (dict "root" . "which" "media") }}
{{- range $name, $value := .Values.config }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
