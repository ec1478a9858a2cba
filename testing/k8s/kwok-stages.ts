// What kwok does with pods, as its Stage resources.

interface StageInput {
  readonly name: string;
  readonly kind: 'Node' | 'Pod';
  readonly when: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
  readonly next: object;
  readonly delayMs?: number;
}

function stageOf({ name, kind, when, next, delayMs = 0 }: StageInput): object {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: 'v1', kind },
      selector: { matchExpressions: when },
      ...(delayMs === 0 ? {} : { delay: { durationMilliseconds: delayMs } }),
      next,
    },
  };
}

/** The statuses of the containers of a list, all in one state. */
function containers(list: string, key: string, state: string): string {
  return `{{ if .spec.${list} }}\n${key}:\n{{ range .spec.${list} }}- name: {{ .name | Quote }}\n  image: {{ .image | Quote }}\n  imageID: ""\n  ready: false\n  restartCount: 0\n  state: ${state}\n{{ end }}{{ end }}`;
}

const label = (name: string) => `.metadata.labels["reelwright.dev/${name}"]`;

/**
 * The stages by which kwok plays a pod on one of the nodes: it runs, it succeeds, it ends when it is deleted. The
 * runner of a batch ends when who plays it says so.
 */
export function stagesOf(): object[] {
  const lives = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' };
  const over =
    '{terminated: {exitCode: 0, reason: Completed, finishedAt: {{ Now | Quote }}, startedAt: {{ Now | Quote }}}}';
  const running = '{running: {startedAt: {{ Now | Quote }}}}';
  const leaves = { key: '.metadata.deletionTimestamp', operator: 'Exists' };
  const stopped =
    '{terminated: {exitCode: 143, reason: Error, finishedAt: {{ Now | Quote }}, startedAt: {{ Now | Quote }}}}';
  const inits = containers('initContainers', 'initContainerStatuses', over);
  return [
    // kwok does not start without a stage for nodes; these have their status already.
    stageOf({
      name: 'node-idle',
      kind: 'Node',
      when: [{ key: '.status.phase', operator: 'In', values: ['Absent'] }],
      next: { statusTemplate: 'phase: Running' },
    }),
    stageOf({
      name: 'pod-runs',
      kind: 'Pod',
      when: [lives, { key: '.status.phase', operator: 'In', values: ['Pending'] }],
      next: {
        statusTemplate: `phase: Running\nstartTime: {{ Now | Quote }}\n${inits}\n${containers('containers', 'containerStatuses', running)}`,
      },
    }),
    stageOf({
      name: 'pod-succeeds',
      kind: 'Pod',
      when: [
        lives,
        { key: '.status.phase', operator: 'In', values: ['Running'] },
        { key: label('batch-id'), operator: 'DoesNotExist' },
      ],
      delayMs: 200,
      next: { statusTemplate: `phase: Succeeded\n${inits}\n${containers('containers', 'containerStatuses', over)}` },
    }),
    // As a kubelet does: the end is reported first, so that the controller of Jobs sees it and takes its finalizer off.
    stageOf({
      name: 'pod-is-stopped',
      kind: 'Pod',
      when: [leaves, { key: '.status.phase', operator: 'In', values: ['Pending', 'Running'] }],
      next: {
        statusTemplate: `phase: Failed\n${inits}\n${containers('containers', 'containerStatuses', stopped)}`,
      },
    }),
    stageOf({
      name: 'pod-goes',
      kind: 'Pod',
      when: [leaves, { key: '.status.phase', operator: 'In', values: ['Failed', 'Succeeded'] }],
      next: { delete: true },
    }),
  ];
}
