{{/* Rules of NetworkPolicies. */}}

{{/* The peers of an egress rule: what is given, else every address but the node and cloud metadata services. */}}
{{- define "reelwright.egressPeers" -}}
{{- if . -}}
{{ toYaml . }}
{{- else -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [169.254.0.0/16]
- ipBlock:
    cidr: ::/0
    except: ['fe80::/10', 'fd00:ec2::/32']
{{- end }}
{{- end }}

{{/* A rule for some ports of some peers: (dict "ports" (list 443) "to" list) */}}
{{- define "reelwright.egressRule" -}}
- to: {{- include "reelwright.egressPeers" .to | nindent 4 }}
  ports:
    {{- range .ports | toStrings | uniq }}
    - port: {{ . }}
    {{- end }}
{{- end }}

{{/* The port of a URL; the scheme's own where it names none; nothing for an empty one. */}}
{{- define "reelwright.portOfUrl" -}}
{{- if . }}
{{- $url := urlParse . }}
{{- $default := ternary "443" "80" (eq $url.scheme "https") -}}
{{ regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default $default }}
{{- end }}
{{- end }}

{{/* DNS, and the rules of networkPolicies.egress.extra. Takes the root. */}}
{{- define "reelwright.commonEgress" -}}
# Not only at the cluster's DNS pods: a node-local cache answers at a link-local address.
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
  {{- with .Values.networkPolicies.egress.dns.to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- $telemetry := get .Values.config "OTEL_EXPORTER_OTLP_ENDPOINT" }}
{{- if $telemetry }}
{{ include "reelwright.egressRule" (dict "ports" (list (include "reelwright.portOfUrl" $telemetry)) "to" .Values.networkPolicies.egress.telemetry.to) }}
{{- end }}
{{- with .Values.networkPolicies.egress.extra }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Public addresses, without the ranges that the controller refuses by itself for webhooks. */}}
{{- define "reelwright.publicPeers" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 0.0.0.0/8
      - 10.0.0.0/8
      - 100.64.0.0/10
      - 127.0.0.0/8
      - 169.254.0.0/16
      - 172.16.0.0/12
      - 192.168.0.0/16
      - 224.0.0.0/3
- ipBlock:
    cidr: 2000::/3
{{- end }}

{{/*
Where runner pods may connect for the buckets: `given`, `private` (every address), or `public` where no bucket has an
endpoint. Values of an earlier chart (`--reuse-values`) have no `runners`: they keep every address. Takes the root.
*/}}
{{- define "reelwright.runnerReach" -}}
{{- $egress := .Values.networkPolicies.egress }}
{{- $runners := $egress.runners | default (dict "anyAddress" true) }}
{{- $endpoints := list }}
{{- range list "source" "media" }}
{{- with (include "reelwright.store" (dict "root" $ "which" .) | fromYaml).endpoint }}
{{- $endpoints = append $endpoints . }}
{{- end }}
{{- end }}
{{- if or $runners.to $egress.storage.to }}given{{ else if or $runners.anyAddress $endpoints }}private{{ else }}public{{ end }}
{{- end }}

{{/* Object storage of runner pods. Takes the root. */}}
{{- define "reelwright.runnerStorageEgress" -}}
{{- $egress := .Values.networkPolicies.egress }}
{{- $to := ($egress.runners | default dict).to | default $egress.storage.to }}
{{- if eq (include "reelwright.runnerReach" .) "public" }}
{{- $to = include "reelwright.publicPeers" . | fromYamlArray }}
{{- end }}
{{- include "reelwright.storageEgress" (dict "root" . "stores" (list "source" "media") "to" $to) }}
{{- end }}

{{/* Object storage: (dict "root" $ "stores" (list "source" "media")); "to": peers in place of the values' */}}
{{- define "reelwright.storageEgress" -}}
{{- $ports := list }}
{{- range .stores }}
{{- $store := include "reelwright.store" (dict "root" $.root "which" .) | fromYaml }}
{{- $ports = append $ports (include "reelwright.portOfUrl" ($store.endpoint | default "https://amazonaws.com")) }}
{{- end }}
{{- include "reelwright.egressRule" (dict "ports" $ports "to" (.to | default .root.Values.networkPolicies.egress.storage.to)) }}
{{- end }}

{{/*
The port of a URL that is given as a value or by an existing Secret; nothing where it names none, or where no cluster can
be asked (`helm template`): (dict "root" $ "secret" .Values.secrets.databaseUrl)
*/}}
{{- define "reelwright.portOfSecret" -}}
{{- $url := .secret.value }}
{{- if .secret.existingSecret }}
{{- $data := (lookup "v1" "Secret" .root.Release.Namespace .secret.existingSecret).data | default dict }}
{{- $url = get $data .secret.key | b64dec }}
{{- end }}
{{- /* Not by urlParse: it ends the installation, and shows the URL, at a character that services accept. */}}
{{- regexFind ":[0-9]+$" (regexReplaceAll "(?s)^[^:]*://([^/?#]*@)?([^/?#\\s]*).*$" $url "${2}") | trimPrefix ":" }}
{{- end }}

{{/* Postgres and Redis. The port of an address is added to the ports of the values. Takes the root. */}}
{{- define "reelwright.databaseEgress" -}}
{{- $egress := .Values.networkPolicies.egress }}
{{- $postgres := include "reelwright.portOfSecret" (dict "root" $ "secret" .Values.secrets.databaseUrl) | trim }}
{{- $redis := include "reelwright.portOfSecret" (dict "root" $ "secret" .Values.secrets.redisUrl) | trim }}
{{- include "reelwright.egressRule" (dict "ports" (concat $egress.database.ports (without (list $postgres) "")) "to" $egress.database.to) }}
{{ include "reelwright.egressRule" (dict "ports" (concat $egress.redis.ports (without (list $redis) "")) "to" $egress.redis.to) }}
{{- end }}

{{/*
The controller's webhooks and imports: any port of public addresses and of the networks of
config.WEBHOOK_ALLOWED_CIDRS and config.IMPORT_ALLOWED_CIDRS. The
excepted ranges are those that the controller refuses by itself. Takes the root.
*/}}
{{- define "reelwright.webhookEgress" -}}
{{- if .Values.networkPolicies.egress.webhooks.to -}}
- to: {{- toYaml .Values.networkPolicies.egress.webhooks.to | nindent 4 }}
{{- else -}}
- to:
    {{- include "reelwright.publicPeers" . | nindent 4 }}
    {{- range $name := list "WEBHOOK_ALLOWED_CIDRS" "IMPORT_ALLOWED_CIDRS" }}
    {{- range splitList "," (get $.Values.config $name | default "") }}
    {{- with trim . }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end }}

{{/* The metadata and pods of the policy of a deployment: (dict "root" $ "component" "api") */}}
{{- define "reelwright.policyHead" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "reelwright.fullname" .root }}-{{ .component }}
  labels: {{- include "reelwright.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "reelwright.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
{{- end }}

{{/* The pods of a deployment in the release's namespace, as a peer of another namespace: (dict "root" $ "component" "controller") */}}
{{- define "reelwright.componentPeer" -}}
namespaceSelector:
  matchLabels: { kubernetes.io/metadata.name: {{ .root.Release.Namespace }} }
podSelector:
  matchLabels: {{- include "reelwright.selector" . | nindent 4 }}
{{- end }}
