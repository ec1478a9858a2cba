{{/*
Settings go into a ConfigMap, secrets into the container by reference. Both list every name whether it has a value or
not: Helm merges maps and lists of variables by name, and what a failed upgrade has added would otherwise stay.
An empty variable counts as one that is not set.
*/}}

{{/*
The settings of values `config` that a deployment reads, and the CA bundle, as the data of a ConfigMap. settings.yaml
lists the names by deployment: (dict "root" $ "component" "api")
*/}}
{{- define "reelwright.settings" -}}
{{- $names := .root.Files.Get "settings.yaml" | fromYaml }}
{{- range $name, $value := .root.Values.config }}
{{- if not (has $name (concat $names.api $names.delivery $names.controller)) }}
{{- fail (printf "config.%s is not a setting that `config` may hold: see the settings.yaml of this chart and docs/reference/configuration.md" $name) }}
{{- end }}
{{- $text := include "reelwright.settingText" $value }}
{{- $choices := get $names.choices $name }}
{{- if and $choices $text (not (has $text $choices)) }}
{{- fail (printf "config.%s must be one of %s, not %s" $name (join ", " $choices) $text) }}
{{- end }}
{{- end }}
{{- range $name := index $names .component }}
{{ $name }}: {{ include "reelwright.settingText" (get $.root.Values.config $name) | quote }}
{{- end }}
NODE_EXTRA_CA_CERTS: '{{ if include "reelwright.hasCaBundle" .root }}/etc/reelwright/ca/ca.crt{{ end }}'
{{- end }}

{{/* A setting as text. YAML numbers are floats in Helm, whose large ones would be written with an exponent. */}}
{{- define "reelwright.settingText" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}
{{ int64 . }}
{{- else if not (kindIs "invalid" .) -}}
{{ . }}
{{- end -}}
{{- end }}

{{/* The values of one store, as YAML; with dev.enabled they lead to the S3 server that the chart installs: (dict "root" $ "which" "source") */}}
{{- define "reelwright.store" -}}
{{- $store := index .root.Values.storage .which }}
{{- if .root.Values.dev.enabled }}
{{- $endpoint := printf "http://%s-dev-s3.%s.svc:7070" (include "reelwright.fullname" .root) .root.Release.Namespace }}
{{- $store = merge (dict "bucket" (printf "reelwright-%s" .which) "endpoint" $endpoint "forcePathStyle" true) $store }}
{{- end }}
{{- toYaml $store }}
{{- end }}

{{/* Bucket and endpoint of one store, as the data of a ConfigMap: (dict "root" $ "which" "source") */}}
{{- define "reelwright.storeSettings" -}}
{{- $prefix := upper .which }}
{{- $store := include "reelwright.store" . | fromYaml -}}
{{ $prefix }}_BUCKET: {{ required (printf "storage.%s.bucket is needed" .which) $store.bucket | quote }}
{{ $prefix }}_S3_ENDPOINT: {{ $store.endpoint | quote }}
{{ $prefix }}_S3_REGION: {{ $store.region | quote }}
{{ $prefix }}_S3_FORCE_PATH_STYLE: {{ $store.forcePathStyle | quote }}
{{- end }}

{{/* The name of the Secret with the credentials of one store: (dict "root" $ "which" "source") */}}
{{- define "reelwright.storeSecretName" -}}
{{- $store := index .root.Values.storage .which -}}
{{ $store.existingSecret | default (printf "%s-%s-storage" (include "reelwright.fullname" .root) .which) }}
{{- end }}

{{/* The credentials of one store as variables. Without that Secret the pod's own identity opens the bucket. */}}
{{- define "reelwright.storeCredentials" -}}
{{- $prefix := upper .which }}
{{- $store := index .root.Values.storage .which }}
{{- $secretName := include "reelwright.storeSecretName" . }}
{{- range $key := list "ACCESS_KEY_ID" "SECRET_ACCESS_KEY" }}
- name: {{ $prefix }}_S3_{{ $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $secretName }}
      key: {{ $prefix }}_S3_{{ $key }}
      optional: {{ empty $store.existingSecret }}
{{- end }}
{{- end }}

{{/* The right to write uploads, and other secrets of what comes in, as variables: (dict "root" $ "names" (list …)). */}}
{{- define "reelwright.uploadCredentials" -}}
{{- /* `helm upgrade --reuse-values` from a chart without uploads has no such value. */}}
{{- $secretName := (.root.Values.uploads | default dict).existingSecret }}
{{- if $secretName }}
{{- range $name := .names }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $secretName }}
      key: {{ $name }}
      optional: true
{{- end }}
{{- end }}
{{- end }}

{{/* Secrets as variables: (dict "root" $ "names" (list "API_KEY" "DATABASE_URL")). The keys of values `secrets` are the same in camel case. */}}
{{- define "reelwright.secretVariables" -}}
{{- range $name := .names }}
{{- $from := index $.root.Values.secrets ($name | lower | camelcase | untitle) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $from.existingSecret | default (printf "%s-secrets" (include "reelwright.fullname" $.root)) }}
      key: {{ ternary $from.key $name (ne $from.existingSecret "") }}
      optional: {{ has $name (list "THUMB_SECRET" "STREAM_SECRET") }}
{{- end }}
{{- end }}

{{- define "reelwright.hasCaBundle" -}}
{{- if or .Values.caBundle.configMap .Values.caBundle.secret }}true{{ end }}
{{- end }}
