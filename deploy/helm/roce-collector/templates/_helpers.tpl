{{- define "roce-collector.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "roce-collector.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "roce-collector.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "roce-collector.selectorLabels" -}}
app.kubernetes.io/name: {{ include "roce-collector.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "roce-collector.labels" -}}
{{ include "roce-collector.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "roce-collector.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "roce-collector.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "roce-collector.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "roce-collector.ifaces" -}}
{{- if not .Values.ifaces -}}
{{- fail "ifaces is empty: name the netdevs to attach to on the nodes, for example --set 'ifaces={ens3np0}'" -}}
{{- end -}}
{{- join "," .Values.ifaces -}}
{{- end -}}

{{- /* The address part of --listen. An IPv6 address is written in brackets, as the port follows it. */ -}}
{{- define "roce-collector.listenHost" -}}
{{- if eq .Values.listen.address "hostIP" -}}
{{- if .Values.listen.hostIPv6 -}}[$(HOST_IP)]{{- else -}}$(HOST_IP){{- end -}}
{{- else if contains ":" .Values.listen.address -}}
{{- printf "[%s]" (trimAll "[]" .Values.listen.address) -}}
{{- else -}}
{{- .Values.listen.address -}}
{{- end -}}
{{- end -}}

{{- /* The kubelet probes the node address unless the collector listens on one other address only. */ -}}
{{- define "roce-collector.probe" -}}
httpGet:
  path: {{ .path }}
  port: metrics
  {{- $address := trimAll "[]" .listen.address }}
  {{- if not (has $address (list "hostIP" "0.0.0.0" "::")) }}
  host: {{ $address | quote }}
  {{- end }}
{{- end -}}

{{/* The name of the volume of a folder that the logs of pods link to. */}}
{{- define "roce-collector.linkedLogs" -}}
{{- printf "logs%s" (regexReplaceAll "[^a-z0-9]+" (lower .) "-") | trunc 63 | trimSuffix "-" }}
{{- end }}
