/** A right that the controller needs, as the chart grants it. */
export interface RequiredRight {
  /** The runners' namespace, the release's, or the whole cluster. */
  readonly where: 'runners' | 'release' | 'cluster';
  readonly group: string;
  /** With its subresource after a slash. */
  readonly resource: string;
  readonly verb: string;
  /** The name of the one object that the right is for. */
  readonly name?: string;
}

interface Row {
  readonly where: RequiredRight['where'];
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly name?: string;
}

const own = 'reelwright.dev';

/** The rules of the chart, which a test compares. */
const rows: readonly Row[] = [
  { where: 'runners', group: own, resources: ['mediajobs'], verbs: ['list', 'watch', 'create', 'delete'] },
  {
    where: 'runners',
    group: own,
    resources: ['mediajobs/status', 'mediaprofiles/status', 'mediarollouts/status', 'runnerpools/status'],
    verbs: ['patch'],
  },
  { where: 'runners', group: own, resources: ['mediaprofiles'], verbs: ['list', 'watch', 'create'] },
  { where: 'runners', group: own, resources: ['mediarollouts'], verbs: ['list', 'watch'] },
  { where: 'runners', group: own, resources: ['runnerpools'], verbs: ['get', 'list', 'watch', 'create', 'patch'] },
  { where: 'runners', group: 'batch', resources: ['jobs'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { where: 'runners', group: '', resources: ['pods'], verbs: ['list', 'watch'] },
  { where: 'runners', group: '', resources: ['namespaces'], verbs: ['get'] },
  { where: 'runners', group: '', resources: ['secrets'], verbs: ['create', 'delete'] },
  { where: 'runners', group: 'events.k8s.io', resources: ['events'], verbs: ['create', 'patch'] },
  { where: 'runners', group: '', resources: ['events'], verbs: ['list'] },
  { where: 'cluster', group: '', resources: ['nodes'], verbs: ['list', 'watch'] },
  { where: 'release', group: 'coordination.k8s.io', resources: ['leases'], verbs: ['create'] },
  {
    where: 'release',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'update', 'patch'],
    name: 'reelwright-controller',
  },
];

export const clusterRights: readonly RequiredRight[] = rows.flatMap(({ resources, verbs, ...row }) =>
  resources.flatMap((resource) => verbs.map((verb) => ({ ...row, resource, verb }))),
);
