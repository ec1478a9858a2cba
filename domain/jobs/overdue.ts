/** What is done to rows once they are due: the labels of `svc_overdue_seconds`. */
export const overdueTasks = ['cleanup', 'job_retention', 'revision_retention', 'webhooks'] as const;
export type OverdueTask = (typeof overdueTasks)[number];
