BEGIN TRANSACTION;
CREATE TABLE budgets (
	study_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	time DOUBLE NOT NULL,
	usd DOUBLE,
	trials INTEGER,
	hours DOUBLE,
	cause TEXT NOT NULL,
	CONSTRAINT pk_budgets PRIMARY KEY (study_id, position),
	CONSTRAINT fk_budgets_studies FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "budgets" VALUES(1,0,1.6949647200948843956e+09,NULL,12,NULL,'created');
INSERT INTO "budgets" VALUES(2,0,1.69496473535394072537e+09,NULL,12,NULL,'created');
INSERT INTO "budgets" VALUES(3,0,1.69496473867114877702e+09,10.0,4,NULL,'created');
INSERT INTO "budgets" VALUES(4,0,1.69496475486693620685e+09,10.0,6,NULL,'created');
CREATE TABLE leantune_schema (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT leantune_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "leantune_schema" VALUES('0001');
CREATE TABLE ledger (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	worker TEXT NOT NULL,
	rate DOUBLE,
	time_limit DOUBLE,
	reserved DOUBLE NOT NULL,
	opened DOUBLE NOT NULL,
	settled DOUBLE,
	settled_at DOUBLE,
	changed INTEGER NOT NULL,
	CONSTRAINT pk_ledger PRIMARY KEY (study_id, number, attempt),
	CONSTRAINT fk_ledger_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
INSERT INTO "ledger" VALUES(1,0,1,'',NULL,NULL,0.0,1.69496472057208514214e+09,0.0,1.69496472057208514214e+09,2);
INSERT INTO "ledger" VALUES(1,1,1,'',NULL,NULL,0.0,1.69496473476755118376e+09,0.0,1.69496473476755118376e+09,4);
INSERT INTO "ledger" VALUES(1,2,1,'',NULL,NULL,0.0,1.69496473486352300643e+09,0.0,1.69496473486352300643e+09,6);
INSERT INTO "ledger" VALUES(1,3,1,'',NULL,NULL,0.0,1.69496473497958564762e+09,0.0,1.69496473497958564762e+09,8);
INSERT INTO "ledger" VALUES(1,4,1,'',NULL,NULL,0.0,1.69496473523156356813e+09,0.0,1.69496473523156356813e+09,10);
INSERT INTO "ledger" VALUES(1,5,1,'',NULL,NULL,0.0,1.69496473524345874785e+09,0.0,1.69496473524345874785e+09,12);
INSERT INTO "ledger" VALUES(2,0,1,'',NULL,NULL,0.0,1.69496473537145137793e+09,0.0,1.69496473537145137793e+09,2);
INSERT INTO "ledger" VALUES(2,1,1,'',NULL,NULL,0.0,1.6949647353874518871e+09,0.0,1.6949647353874518871e+09,4);
INSERT INTO "ledger" VALUES(2,2,1,'',NULL,NULL,0.0,1.69496473539351987834e+09,0.0,1.69496473539351987834e+09,6);
INSERT INTO "ledger" VALUES(2,3,1,'',NULL,NULL,0.0,1.69496473540744042396e+09,0.0,1.69496473540744042396e+09,8);
INSERT INTO "ledger" VALUES(2,4,1,'',NULL,NULL,0.0,1.69496473569954347613e+09,0.0,1.69496473569954347613e+09,10);
INSERT INTO "ledger" VALUES(2,5,1,'',NULL,NULL,0.0,1.6949647360477349758e+09,0.0,1.6949647360477349758e+09,12);
INSERT INTO "ledger" VALUES(2,6,1,'',NULL,NULL,0.0,1.69496473643956255912e+09,0.0,1.69496473643956255912e+09,14);
INSERT INTO "ledger" VALUES(3,0,1,'host-12146-1ea821d5',3.6,60.0,6.20000000000000064948e-02,1.69496473914835166932e+09,5.90714100007971873885e-06,1.69496473920961451525e+09,3);
INSERT INTO "ledger" VALUES(3,1,1,'host-12146-1ea821d5',3.6,60.0,6.20000000000000064948e-02,1.69496473924076437953e+09,1.77654569997685061813e-05,1.69496473931045866017e+09,6);
INSERT INTO "ledger" VALUES(3,2,1,'host-12146-1ea821d5',3.6,60.0,6.20000000000000064948e-02,1694964739.34784,6.23249500040401492812e-06,1.6949647394232707023e+09,9);
INSERT INTO "ledger" VALUES(3,3,1,'host-12146-1ea821d5',3.6,60.0,6.20000000000000064948e-02,1.69496473943188071245e+09,1.20073099997171096994e-05,1.69496473948736977579e+09,12);
INSERT INTO "ledger" VALUES(3,4,1,'host-12326-45b426e5',3.6,60.0,6.20000000000000064948e-02,1.69496475300634050374e+09,7.90151499995772613107e-06,1.69496475306909322742e+09,15);
INSERT INTO "ledger" VALUES(4,0,1,'host-12380-60bf2101',3.6,60.0,6.20000000000000064948e-02,1.69496475539188098903e+09,4.11309159999291337837e-05,1.69496475546925568587e+09,5);
INSERT INTO "ledger" VALUES(4,1,1,'host-12380-60bf2101',3.6,60.0,6.20000000000000064948e-02,1.69496475541158699994e+09,3.49272000039491148674e-06,1.6949647554993622303e+09,8);
INSERT INTO "ledger" VALUES(4,2,1,'host-12380-60bf2101',3.6,60.0,6.20000000000000064948e-02,1.69496475548214292532e+09,NULL,NULL,7);
INSERT INTO "ledger" VALUES(4,3,1,'host-12380-60bf2101',3.6,60.0,6.20000000000000064948e-02,1.69496475551287364958e+09,NULL,NULL,10);
CREATE TABLE moves (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	position INTEGER NOT NULL,
	state TEXT NOT NULL,
	time DOUBLE NOT NULL,
	cause TEXT NOT NULL,
	dollars DOUBLE NOT NULL,
	CONSTRAINT pk_moves PRIMARY KEY (study_id, number, position),
	CONSTRAINT fk_moves_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
INSERT INTO "moves" VALUES(1,0,0,'proposed',1694964720.56958,'',0.0);
INSERT INTO "moves" VALUES(1,0,1,'queued',1.69496472057208514214e+09,'',0.0);
INSERT INTO "moves" VALUES(1,0,2,'running',1.69496472057208514214e+09,'',0.0);
INSERT INTO "moves" VALUES(1,0,3,'done',1.69496472057208514214e+09,'',0.0);
INSERT INTO "moves" VALUES(1,1,0,'proposed',1.69496473475819015505e+09,'',0.0);
INSERT INTO "moves" VALUES(1,1,1,'queued',1.69496473476755118376e+09,'',0.0);
INSERT INTO "moves" VALUES(1,1,2,'running',1.69496473476755118376e+09,'',0.0);
INSERT INTO "moves" VALUES(1,1,3,'done',1.69496473476755118376e+09,'',0.0);
INSERT INTO "moves" VALUES(1,2,0,'proposed',1.69496473485708212857e+09,'',0.0);
INSERT INTO "moves" VALUES(1,2,1,'queued',1.69496473486352300643e+09,'',0.0);
INSERT INTO "moves" VALUES(1,2,2,'running',1.69496473486352300643e+09,'',0.0);
INSERT INTO "moves" VALUES(1,2,3,'done',1.69496473486352300643e+09,'',0.0);
INSERT INTO "moves" VALUES(1,3,0,'proposed',1.69496473497216987606e+09,'',0.0);
INSERT INTO "moves" VALUES(1,3,1,'queued',1.69496473497958564762e+09,'',0.0);
INSERT INTO "moves" VALUES(1,3,2,'running',1.69496473497958564762e+09,'',0.0);
INSERT INTO "moves" VALUES(1,3,3,'failed',1.69496473497958564762e+09,'exit code 3',0.0);
INSERT INTO "moves" VALUES(1,4,0,'proposed',1.69496473522420334819e+09,'',0.0);
INSERT INTO "moves" VALUES(1,4,1,'queued',1.69496473523156356813e+09,'',0.0);
INSERT INTO "moves" VALUES(1,4,2,'running',1.69496473523156356813e+09,'',0.0);
INSERT INTO "moves" VALUES(1,4,3,'done',1.69496473523156356813e+09,'',0.0);
INSERT INTO "moves" VALUES(1,5,0,'proposed',1.69496473523940563207e+09,'',0.0);
INSERT INTO "moves" VALUES(1,5,1,'queued',1.69496473524345874785e+09,'',0.0);
INSERT INTO "moves" VALUES(1,5,2,'running',1.69496473524345874785e+09,'',0.0);
INSERT INTO "moves" VALUES(1,5,3,'done',1.69496473524345874785e+09,'',0.0);
INSERT INTO "moves" VALUES(1,6,0,'proposed',1.69496473534707307821e+09,'',0.0);
INSERT INTO "moves" VALUES(2,0,0,'proposed',1.69496473536452579499e+09,'',0.0);
INSERT INTO "moves" VALUES(2,0,1,'queued',1.69496473537145137793e+09,'',0.0);
INSERT INTO "moves" VALUES(2,0,2,'running',1.69496473537145137793e+09,'',0.0);
INSERT INTO "moves" VALUES(2,0,3,'failed',1.69496473537145137793e+09,'out of memory',0.0);
INSERT INTO "moves" VALUES(2,1,0,'proposed',1.69496473537975120542e+09,'',0.0);
INSERT INTO "moves" VALUES(2,1,1,'queued',1.6949647353874518871e+09,'',0.0);
INSERT INTO "moves" VALUES(2,1,2,'running',1.6949647353874518871e+09,'',0.0);
INSERT INTO "moves" VALUES(2,1,3,'failed',1.6949647353874518871e+09,'out of memory',0.0);
INSERT INTO "moves" VALUES(2,2,0,'proposed',1.69496473539279365536e+09,'',0.0);
INSERT INTO "moves" VALUES(2,2,1,'queued',1.69496473539351987834e+09,'',0.0);
INSERT INTO "moves" VALUES(2,2,2,'running',1.69496473539351987834e+09,'',0.0);
INSERT INTO "moves" VALUES(2,2,3,'failed',1.69496473539351987834e+09,'out of memory',0.0);
INSERT INTO "moves" VALUES(2,3,0,'proposed',1.6949647354039340019e+09,'',0.0);
INSERT INTO "moves" VALUES(2,3,1,'queued',1.69496473540744042396e+09,'',0.0);
INSERT INTO "moves" VALUES(2,3,2,'running',1.69496473540744042396e+09,'',0.0);
INSERT INTO "moves" VALUES(2,3,3,'done',1.69496473540744042396e+09,'',0.0);
INSERT INTO "moves" VALUES(2,4,0,'proposed',1.69496473568948674203e+09,'',0.0);
INSERT INTO "moves" VALUES(2,4,1,'queued',1.69496473569954347613e+09,'',0.0);
INSERT INTO "moves" VALUES(2,4,2,'running',1.69496473569954347613e+09,'',0.0);
INSERT INTO "moves" VALUES(2,4,3,'done',1.69496473569954347613e+09,'',0.0);
INSERT INTO "moves" VALUES(2,5,0,'proposed',1.69496473604201340675e+09,'',0.0);
INSERT INTO "moves" VALUES(2,5,1,'queued',1.6949647360477349758e+09,'',0.0);
INSERT INTO "moves" VALUES(2,5,2,'running',1.6949647360477349758e+09,'',0.0);
INSERT INTO "moves" VALUES(2,5,3,'done',1.6949647360477349758e+09,'',0.0);
INSERT INTO "moves" VALUES(2,6,0,'proposed',1694964736.43265,'',0.0);
INSERT INTO "moves" VALUES(2,6,1,'queued',1.69496473643956255912e+09,'',0.0);
INSERT INTO "moves" VALUES(2,6,2,'running',1.69496473643956255912e+09,'',0.0);
INSERT INTO "moves" VALUES(2,6,3,'done',1.69496473643956255912e+09,'',0.0);
INSERT INTO "moves" VALUES(3,0,0,'proposed',1.69496473914053368565e+09,'',0.0);
INSERT INTO "moves" VALUES(3,0,1,'queued',1.69496473914053368565e+09,'',0.0);
INSERT INTO "moves" VALUES(3,0,2,'running',1.69496473914835166932e+09,'',0.0);
INSERT INTO "moves" VALUES(3,0,3,'done',1.69496473920961451525e+09,'',0.0);
INSERT INTO "moves" VALUES(3,1,0,'proposed',1.69496473922686457635e+09,'',0.0);
INSERT INTO "moves" VALUES(3,1,1,'queued',1.69496473922686457635e+09,'',0.0);
INSERT INTO "moves" VALUES(3,1,2,'running',1.69496473924076437953e+09,'',0.0);
INSERT INTO "moves" VALUES(3,1,3,'done',1.69496473931045866017e+09,'',0.0);
INSERT INTO "moves" VALUES(3,2,0,'proposed',1.69496473931266665455e+09,'',0.0);
INSERT INTO "moves" VALUES(3,2,1,'queued',1.69496473931266665455e+09,'',0.0);
INSERT INTO "moves" VALUES(3,2,2,'running',1694964739.34784,'',0.0);
INSERT INTO "moves" VALUES(3,2,3,'done',1.6949647394232707023e+09,'',0.0);
INSERT INTO "moves" VALUES(3,3,0,'proposed',1.69496473942615604401e+09,'',0.0);
INSERT INTO "moves" VALUES(3,3,1,'queued',1.69496473942615604401e+09,'',0.0);
INSERT INTO "moves" VALUES(3,3,2,'running',1.69496473943188071245e+09,'',0.0);
INSERT INTO "moves" VALUES(3,3,3,'done',1.69496473948736977579e+09,'',0.0);
INSERT INTO "moves" VALUES(3,4,0,'proposed',1.69496475297897696496e+09,'',0.0);
INSERT INTO "moves" VALUES(3,4,1,'queued',1.69496475297897696496e+09,'',0.0);
INSERT INTO "moves" VALUES(3,4,2,'running',1.69496475300634050374e+09,'',0.0);
INSERT INTO "moves" VALUES(3,4,3,'done',1.69496475306909322742e+09,'',0.0);
INSERT INTO "moves" VALUES(4,0,0,'proposed',1.69496475538514494892e+09,'',0.0);
INSERT INTO "moves" VALUES(4,0,1,'queued',1.69496475538514494892e+09,'',0.0);
INSERT INTO "moves" VALUES(4,0,2,'running',1.69496475539188098903e+09,'',0.0);
INSERT INTO "moves" VALUES(4,1,0,'proposed',1.69496475540444374086e+09,'',0.0);
INSERT INTO "moves" VALUES(4,1,1,'queued',1.69496475540444374086e+09,'',0.0);
INSERT INTO "moves" VALUES(4,1,2,'running',1.69496475541158699994e+09,'',0.0);
INSERT INTO "moves" VALUES(4,0,3,'done',1.69496475546925568587e+09,'',0.0);
INSERT INTO "moves" VALUES(4,2,0,'proposed',1.69496475547378373143e+09,'',0.0);
INSERT INTO "moves" VALUES(4,2,1,'queued',1.69496475547378373143e+09,'',0.0);
INSERT INTO "moves" VALUES(4,2,2,'running',1.69496475548214292532e+09,'',0.0);
INSERT INTO "moves" VALUES(4,1,3,'done',1.6949647554993622303e+09,'',0.0);
INSERT INTO "moves" VALUES(4,3,0,'proposed',1.69496475551091790195e+09,'',0.0);
INSERT INTO "moves" VALUES(4,3,1,'queued',1.69496475551091790195e+09,'',0.0);
INSERT INTO "moves" VALUES(4,3,2,'running',1.69496475551287364958e+09,'',0.0);
CREATE TABLE observations (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	position INTEGER NOT NULL,
	fraction TEXT NOT NULL,
	kind TEXT NOT NULL,
	metrics TEXT NOT NULL,
	seconds DOUBLE,
	cost DOUBLE,
	cause TEXT NOT NULL,
	CONSTRAINT pk_observations PRIMARY KEY (study_id, number, position),
	CONSTRAINT fk_observations_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
INSERT INTO "observations" VALUES(1,0,0,'1/10','measured','{"accuracy":0.4351848441229391}',1.0,NULL,'');
INSERT INTO "observations" VALUES(1,1,0,'1/10','measured','{"accuracy":0.48849603725173035}',1.0,NULL,'');
INSERT INTO "observations" VALUES(1,2,0,'1/10','measured','{"accuracy":0.22720999211593265}',1.0,NULL,'');
INSERT INTO "observations" VALUES(1,3,0,'1/10','failed','{}',3.0,NULL,'exit code 3');
INSERT INTO "observations" VALUES(1,4,0,'1/10','measured','{"accuracy":0.5767787622595014}',1.0,NULL,'');
INSERT INTO "observations" VALUES(1,5,0,'1','measured','{"accuracy":1.0}',9.0,NULL,'');
INSERT INTO "observations" VALUES(2,0,0,'1/10','failed','{}',2.0,NULL,'out of memory');
INSERT INTO "observations" VALUES(2,1,0,'1/2','failed','{}',2.0,NULL,'out of memory');
INSERT INTO "observations" VALUES(2,2,0,'1/10','failed','{}',2.0,NULL,'out of memory');
INSERT INTO "observations" VALUES(2,3,0,'1/10','measured','{"accuracy":0.08875}',10.0,NULL,'');
INSERT INTO "observations" VALUES(2,4,0,'1/10','measured','{"accuracy":0.08875}',10.0,NULL,'');
INSERT INTO "observations" VALUES(2,5,0,'1/10','measured','{"accuracy":0.08875}',10.0,NULL,'');
INSERT INTO "observations" VALUES(2,6,0,'1/10','measured','{"accuracy":0.085}',10.0,NULL,'');
INSERT INTO "observations" VALUES(3,0,0,'1','measured','{"accuracy":0.7}',5.90714100007971865125e-03,5.90714100007971873885e-06,'');
INSERT INTO "observations" VALUES(3,1,0,'1','measured','{"accuracy":0.3}',1.77654569997685030102e-02,1.77654569997685027934e-05,'');
INSERT INTO "observations" VALUES(3,2,0,'1','measured','{"accuracy":0.1}',6.23249500040401471778e-03,6.23249500040401492812e-06,'');
INSERT INTO "observations" VALUES(3,3,0,'1','measured','{"accuracy":0.6}',1.20073099997171084396e-02,1.20073099997171080059e-05,'');
INSERT INTO "observations" VALUES(3,4,0,'1','measured','{"accuracy":0.7}',7.90151499995772610418e-03,7.90151499995772613107e-06,'');
INSERT INTO "observations" VALUES(4,0,0,'1','measured','{"accuracy":0.7}',4.11309159999291296117e-02,4.11309159999291337837e-05,'');
INSERT INTO "observations" VALUES(4,1,0,'1','measured','{"accuracy":0.3}',3.49272000039491103962e-03,3.49272000039491148674e-06,'');
CREATE TABLE reports (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	seconds DOUBLE NOT NULL,
	metrics TEXT NOT NULL,
	step DOUBLE,
	fraction TEXT,
	CONSTRAINT pk_reports PRIMARY KEY (id),
	CONSTRAINT fk_reports_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
CREATE TABLE studies (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	created DOUBLE NOT NULL,
	leantune_version TEXT NOT NULL,
	definition TEXT NOT NULL,
	job TEXT NOT NULL,
	version INTEGER NOT NULL,
	budget_usd DOUBLE,
	budget_trials INTEGER,
	budget_hours DOUBLE,
	proposing_worker TEXT,
	proposing_until DOUBLE,
	CONSTRAINT pk_studies PRIMARY KEY (id),
	CONSTRAINT uq_studies_name UNIQUE (name)
);
INSERT INTO "studies" VALUES(1,'python',1.6949647200948843956e+09,'0.1.0','{"space": [{"name": "lr", "kind": "log", "low": 0.0001, "high": 1.0}, {"name": "layers", "kind": "integer", "low": 1, "high": 4, "log": false}], "goal": {"metric": "accuracy", "direction": "maximize", "scale": "auto", "at": "full"}, "subject_to": [], "fractions": ["1/10", "1"], "snapshots": false, "strategy": {"name": "trimtuner"}, "seed": 5}','',13,NULL,12,NULL,NULL,NULL);
INSERT INTO "studies" VALUES(2,'noted',1.69496473535394072537e+09,'0.1.0','{"space": [{"name": "a", "kind": "integer", "low": 0, "high": 79, "log": false}, {"name": "b", "kind": "integer", "low": 0, "high": 49, "log": false}], "goal": {"metric": "accuracy", "direction": "maximize", "scale": "auto", "at": "full"}, "subject_to": [], "fractions": ["1/10", "1/2", "1"], "snapshots": false, "strategy": {"name": "trimtuner"}, "seed": 2}','',14,NULL,12,NULL,NULL,NULL);
INSERT INTO "studies" VALUES(3,'verified',1.69496473867114877702e+09,'0.1.0','{"space": [{"name": "lr", "kind": "choice", "options": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}, {"name": "cluster", "kind": "clusters", "options": [{"type": "one", "nodes": 1, "vcpus": 0.25, "memory_gib": 0.0625, "accelerators": 0, "usd_per_hour": 3.6, "provider": "private", "region": ""}]}], "goal": {"metric": "accuracy", "direction": "maximize", "scale": "auto", "at": "full"}, "subject_to": ["cost <= 5.0 USD"], "fractions": ["1/4", "1"], "snapshots": false, "strategy": {"name": "eic"}, "seed": 3, "train": ["sh", "train.sh", "{lr}", "{fraction}", "{trial}"], "budget": {"usd": 10.0, "trials": 4, "hours": null}, "run": {"on": "local", "spot": false, "parallel": 1, "time_limit": 60.0, "grace": 1.0, "deterministic": false, "lease": 60.0, "logs": "/home/user/digits/leantune-runs", "max_failures": 5, "market": null}, "store": "sqlite:////home/user/digits/leantune.db", "checkpoints": "/home/user/digits/checkpoints"}','name: verified
train: sh train.sh {lr} {fraction} {trial}
maximize: accuracy
subject_to: [cost <= 5 USD]
space:
  lr: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
  cluster: {machines: {one: {vcpus: 0.25, memory: 64 MiB, usd_per_hour: 3.6}}}
fractions: [1/4, 1]
budget: {usd: 10, trials: 4}
strategy: eic
seed: 3
run: {time_limit: 60 s, grace: 1 s, parallel: 1}
',15,10.0,4,NULL,NULL,NULL);
INSERT INTO "studies" VALUES(4,'killed',1.69496475486693620685e+09,'0.1.0','{"space": [{"name": "lr", "kind": "choice", "options": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}, {"name": "cluster", "kind": "clusters", "options": [{"type": "one", "nodes": 1, "vcpus": 0.25, "memory_gib": 0.0625, "accelerators": 0, "usd_per_hour": 3.6, "provider": "private", "region": ""}]}], "goal": {"metric": "accuracy", "direction": "maximize", "scale": "auto", "at": "full"}, "subject_to": ["cost <= 5.0 USD"], "fractions": ["1/4", "1"], "snapshots": false, "strategy": {"name": "random"}, "seed": 3, "train": ["sh", "train.sh", "{lr}", "{fraction}", "{trial}"], "budget": {"usd": 10.0, "trials": 6, "hours": null}, "run": {"on": "local", "spot": false, "parallel": 2, "time_limit": 60.0, "grace": 1.0, "deterministic": false, "lease": 60.0, "logs": "/home/user/digits/leantune-runs", "max_failures": 5, "market": null}, "store": "sqlite:////home/user/digits/leantune.db", "checkpoints": "/home/user/digits/checkpoints"}','name: killed
train: sh train.sh {lr} {fraction} {trial}
maximize: accuracy
subject_to: [cost <= 5 USD]
space:
  lr: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
  cluster: {machines: {one: {vcpus: 0.25, memory: 64 MiB, usd_per_hour: 3.6}}}
fractions: [1/4, 1]
budget: {usd: 10, trials: 6}
strategy: random
seed: 3
run: {time_limit: 60 s, grace: 1 s, parallel: 2}
',10,10.0,6,NULL,NULL,NULL);
CREATE TABLE trials (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	configuration TEXT NOT NULL,
	fraction TEXT NOT NULL,
	snapshots TEXT NOT NULL,
	note TEXT NOT NULL,
	expected TEXT NOT NULL,
	time_limit DOUBLE,
	state TEXT NOT NULL,
	resumed_dollars DOUBLE NOT NULL,
	attempt INTEGER NOT NULL,
	worker TEXT,
	started DOUBLE,
	lease_until DOUBLE,
	changed INTEGER NOT NULL,
	CONSTRAINT pk_trials PRIMARY KEY (study_id, number),
	CONSTRAINT fk_trials_studies FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "trials" VALUES(1,0,'{"layers":1,"lr":0.0012346910686492052}','1/10','1/10','start','{}',NULL,'done',0.0,1,NULL,NULL,NULL,2);
INSERT INTO "trials" VALUES(1,1,'{"layers":3,"lr":0.061836540533905346}','1/10','1/10','fallback: none of 401 pairs promises anything; the largest expected accuracy
cap: the optimum is sought among 500 of 2001 configurations
cap: the next incumbent is sought among 500 of 2001 configurations
the space cannot be enumerated: a pool of 2000 configurations was drawn','{"accuracy":[0.4091876112539097,0.1772437166238271],"time":[1.046027859908717,0.3138083579726151]}',NULL,'done',0.0,1,NULL,NULL,NULL,4);
INSERT INTO "trials" VALUES(1,2,'{"layers":4,"lr":0.38008115829741257}','1/10','1/10','largest acquisition of 401 pairs
cap: the optimum is sought among 500 of 2002 configurations
cap: the next incumbent is sought among 500 of 2002 configurations
the space cannot be enumerated: a pool of 2000 configurations was drawn','{"accuracy":[0.4703643172927533,0.02512687628793542],"time":[1.046027859908717,0.3138083579726151]}',NULL,'done',0.0,1,NULL,NULL,NULL,6);
INSERT INTO "trials" VALUES(1,3,'{"layers":1,"lr":0.023693311124885895}','1/10','1/10','largest acquisition of 401 pairs
cap: the optimum is sought among 500 of 2003 configurations
cap: the next incumbent is sought among 500 of 2003 configurations
the space cannot be enumerated: a pool of 2000 configurations was drawn','{"accuracy":[0.4463197581521401,0.0548187723367375],"time":[1.046027859908717,0.3138083579726151]}',NULL,'failed',0.0,1,NULL,NULL,NULL,8);
INSERT INTO "trials" VALUES(1,4,'{"layers":3,"lr":0.0024313646491813915}','1/10','1/10','largest acquisition of 401 pairs
cap: the optimum is sought among 500 of 2004 configurations
cap: the next incumbent is sought among 500 of 2004 configurations
the space cannot be enumerated: a pool of 2000 configurations was drawn','{"accuracy":[0.4225639082793635,0.08670594251469321],"time":[1.343219938820377,0.5823545007283429]}',NULL,'done',0.0,1,NULL,NULL,NULL,10);
INSERT INTO "trials" VALUES(1,5,'{"layers":2,"lr":0.01}','1','1','enqueued by the user','{}',NULL,'done',0.0,1,NULL,NULL,NULL,12);
INSERT INTO "trials" VALUES(1,6,'{"layers":4,"lr":0.0001030044403966309}','1/10','1/10','largest acquisition of 401 pairs
cap: the optimum is sought among 500 of 2006 configurations
cap: the next incumbent is sought among 500 of 2006 configurations
the space cannot be enumerated: a pool of 2000 configurations was drawn','{"accuracy":[0.08838248549498284,0.9445404754918552],"time":[1.034153408916644,0.26801589351000826]}',NULL,'proposed',0.0,0,NULL,NULL,NULL,13);
INSERT INTO "trials" VALUES(2,0,'{"a":17,"b":37}','1/10','1/10','start
the program gives no snapshots: the start is one run for each of 2 fractions, each charged','{}',NULL,'failed',0.0,1,NULL,NULL,NULL,2);
INSERT INTO "trials" VALUES(2,1,'{"a":17,"b":37}','1/2','1/2','start
the program gives no snapshots: the start is one run for each of 2 fractions, each charged','{}',NULL,'failed',0.0,1,NULL,NULL,NULL,4);
INSERT INTO "trials" VALUES(2,2,'{"a":75,"b":39}','1/10','1/10','fallback: no result to learn from yet; at random, on the least data','{}',NULL,'failed',0.0,1,NULL,NULL,NULL,6);
INSERT INTO "trials" VALUES(2,3,'{"a":71,"b":28}','1/10','1/10','fallback: no result to learn from yet; at random, on the least data','{}',NULL,'done',0.0,1,NULL,NULL,NULL,8);
INSERT INTO "trials" VALUES(2,4,'{"a":71,"b":10}','1/10','1/10','fallback: none of 1200 pairs promises anything; the largest expected accuracy
cap: the optimum is sought among 500 of 4000 configurations
cap: the next incumbent is sought among 500 of 4000 configurations','{"accuracy":[0.046807112658181715,0.2859578662025455],"time":[8.817038530518053,2.6556151884816033]}',NULL,'done',0.0,1,NULL,NULL,NULL,10);
INSERT INTO "trials" VALUES(2,5,'{"a":71,"b":4}','1/10','1/10','fallback: none of 1200 pairs promises anything; the largest expected accuracy
cap: the optimum is sought among 500 of 4000 configurations
cap: the next incumbent is sought among 500 of 4000 configurations','{"accuracy":[0.046807112658181715,0.2859578662025455],"time":[9.802426100493694,0.7764570569918752]}',NULL,'done',0.0,1,NULL,NULL,NULL,12);
INSERT INTO "trials" VALUES(2,6,'{"a":68,"b":3}','1/10','1/10','fallback: none of 1200 pairs promises anything; the largest expected accuracy
cap: the optimum is sought among 500 of 4000 configurations
cap: the next incumbent is sought among 500 of 4000 configurations','{"accuracy":[0.046807112658181715,0.2859578662025455],"time":[9.954931039853022,0.6754610434656413]}',NULL,'done',0.0,1,NULL,NULL,NULL,14);
INSERT INTO "trials" VALUES(3,0,'{"cluster":{"nodes":1,"type":"one"},"lr":0.7}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,3);
INSERT INTO "trials" VALUES(3,1,'{"cluster":{"nodes":1,"type":"one"},"lr":0.3}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,6);
INSERT INTO "trials" VALUES(3,2,'{"cluster":{"nodes":1,"type":"one"},"lr":0.1}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,9);
INSERT INTO "trials" VALUES(3,3,'{"cluster":{"nodes":1,"type":"one"},"lr":0.6}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,12);
INSERT INTO "trials" VALUES(3,4,'{"cluster":{"nodes":1,"type":"one"},"lr":0.7}','1','1','verification of the recommendation','{"accuracy":[0.6875094339408998,0.03350388961456329],"time":[0.005915514542506629,0.0001317668425743943],"cost":[5.915514542506629e-06,1.317668425743943e-07]}',60.0,'done',0.0,1,NULL,NULL,NULL,15);
INSERT INTO "trials" VALUES(4,0,'{"cluster":{"nodes":1,"type":"one"},"lr":0.7}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,5);
INSERT INTO "trials" VALUES(4,1,'{"cluster":{"nodes":1,"type":"one"},"lr":0.3}','1','1','start','{}',60.0,'done',0.0,1,NULL,NULL,NULL,8);
INSERT INTO "trials" VALUES(4,2,'{"cluster":{"nodes":1,"type":"one"},"lr":0.1}','1','1','start','{}',60.0,'running',0.0,1,'host-12380-60bf2101',1.69496475548214292532e+09,1.69496481548214292527e+09,7);
INSERT INTO "trials" VALUES(4,3,'{"cluster":{"nodes":1,"type":"one"},"lr":0.6}','1','1','start','{}',60.0,'running',0.0,1,'host-12380-60bf2101',1.69496475551287364958e+09,1.69496481551287364953e+09,10);
CREATE TABLE workers (
	study_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	host TEXT NOT NULL,
	pid INTEGER NOT NULL,
	process_started DOUBLE NOT NULL,
	slots INTEGER NOT NULL,
	joined DOUBLE NOT NULL,
	seen DOUBLE NOT NULL,
	CONSTRAINT pk_workers PRIMARY KEY (study_id, id),
	CONSTRAINT fk_workers_studies FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "workers" VALUES(4,'host-12380-60bf2101','host',4711,406497.0,2,1.6949647548893425464e+09,1.6949647548893425464e+09);
CREATE INDEX ix_trials_study_id_state_number ON trials (study_id, state, number);
CREATE INDEX ix_trials_study_id_changed ON trials (study_id, changed);
CREATE INDEX ix_reports_study_id_number ON reports (study_id, number);
CREATE INDEX ix_ledger_study_id_changed ON ledger (study_id, changed);
COMMIT;
