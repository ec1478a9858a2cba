{{/*
One of the three servers of dev.enabled, as a Deployment and a Service. Its data is lost with its pod.
(dict "root" $ "name" "redis" "values" .Values.dev.redis "port" 6379 "userId" 999 "dataPath" "/data" "env" list)
*/}}
{{- define "reelwright.devServer" -}}
{{- $component := dict "root" .root "component" (printf "dev-%s" .name) -}}
{{- $fullname := printf "%s-dev-%s" (include "reelwright.fullname" .root) .name -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $fullname }}
  labels: {{- include "reelwright.labels" $component | nindent 4 }}
spec:
  replicas: 1
  strategy: { type: Recreate }
  selector:
    matchLabels: {{- include "reelwright.selector" $component | nindent 6 }}
  template:
    metadata:
      labels: {{- include "reelwright.labels" $component | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ .userId }}
        runAsGroup: {{ .userId }}
        fsGroup: {{ .userId }}
        seccompProfile: { type: RuntimeDefault }
      containers:
        - name: {{ .name }}
          image: {{ .values.image }}
          imagePullPolicy: IfNotPresent
          {{- with .values.command }}
          command: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .values.args }}
          args: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .env }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: { drop: [ALL] }
          ports:
            - name: main
              containerPort: {{ .port }}
          readinessProbe:
            tcpSocket: { port: main }
            periodSeconds: 1
          volumeMounts:
            - { name: data, mountPath: {{ .dataPath }} }
            - { name: tmp, mountPath: /tmp }
            - { name: run, mountPath: /var/run/postgresql }
      volumes:
        - { name: data, emptyDir: {} }
        - { name: tmp, emptyDir: {} }
        - { name: run, emptyDir: {} }
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $fullname }}
  labels: {{- include "reelwright.labels" $component | nindent 4 }}
spec:
  selector: {{- include "reelwright.selector" $component | nindent 4 }}
  ports:
    - name: main
      port: {{ .port }}
      targetPort: main
{{- end }}

{{/* The password of the three servers, as the source of a variable. */}}
{{- define "reelwright.devPassword" -}}
secretKeyRef:
  name: {{ include "reelwright.fullname" . }}-secrets
  key: DEV_PASSWORD
{{- end }}
