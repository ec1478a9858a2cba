/** The metric families of the contract (C25.4, C25.7 to C25.12). */
export const metricFamilies = [
  'svc_http_requests_total',
  'svc_http_request_duration_seconds',
  'svc_image_cache_events_total',
  'svc_image_results_total',
  'svc_image_errors_total',
  'svc_worker_tasks_total',
  'svc_worker_task_duration_seconds',
  'svc_readiness_failures_total',
  'svc_queue_tasks',
  'svc_queue_metrics_sync_failures_total',
];
