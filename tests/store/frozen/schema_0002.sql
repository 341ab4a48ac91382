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
INSERT INTO "budgets" VALUES(1,0,1.0,NULL,NULL,NULL,'created');
INSERT INTO "budgets" VALUES(2,0,1700000000.25,5.0,40,2.5,'created');
INSERT INTO "budgets" VALUES(2,1,1700000001.5,7.5,NULL,NULL,'extended by the user');
INSERT INTO "budgets" VALUES(3,0,1.0,9.0,NULL,NULL,'created');
CREATE TABLE leantune_schema (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT leantune_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "leantune_schema" VALUES('0002');
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
INSERT INTO "ledger" VALUES(2,0,1,'host-1',0.36,600.0,1.25,3.0,0.0100125,103.125,3);
INSERT INTO "ledger" VALUES(2,1,1,'host-1',0.36,600.0,1.25,11.0,0.5,12.0,6);
INSERT INTO "ledger" VALUES(2,1,2,'host-1',0.36,600.0,1.25,13.0,1.0,33.0,8);
INSERT INTO "ledger" VALUES(2,2,1,'host-1',0.36,600.0,1.25,21.0,0.25,22.0,11);
INSERT INTO "ledger" VALUES(2,2,2,'host-1',0.36,600.0,1.25,23.0,0.75,26.0,13);
INSERT INTO "ledger" VALUES(2,3,1,'',0.36,NULL,0.0,31.0,0.25,31.0,15);
INSERT INTO "ledger" VALUES(2,4,1,'host-1',0.36,600.0,1.25,41.0,0.125,42.0,18);
INSERT INTO "ledger" VALUES(2,4,2,'host-1',0.36,600.0,1.25,50.0,NULL,NULL,19);
INSERT INTO "ledger" VALUES(3,0,1,'host-1',0.36,600.0,1.25,3.0,0.25,9.0,4);
INSERT INTO "ledger" VALUES(3,1,1,'host-1',0.36,600.0,1.25,3.0,0.25,9.0,6);
INSERT INTO "ledger" VALUES(3,2,1,'host-1',0.36,600.0,1.25,12.0,0.25,23.0,10);
INSERT INTO "ledger" VALUES(3,3,1,'host-1',0.36,600.0,1.25,25.0,NULL,NULL,12);
CREATE TABLE moves (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	position INTEGER NOT NULL,
	state TEXT NOT NULL,
	time DOUBLE NOT NULL,
	cause TEXT NOT NULL,
	dollars DOUBLE NOT NULL, seconds DOUBLE,
	CONSTRAINT pk_moves PRIMARY KEY (study_id, number, position),
	CONSTRAINT fk_moves_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
INSERT INTO "moves" VALUES(2,0,0,'proposed',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,0,1,'queued',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,0,2,'running',3.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,0,3,'done',103.125,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,0,'proposed',10.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,1,'queued',10.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,2,'running',11.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,3,'revoked',12.0,'notice',0.5,NULL);
INSERT INTO "moves" VALUES(2,1,4,'queued',12.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,5,'running',13.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,1,6,'failed',33.0,'timeout: 20 s',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,0,'proposed',20.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,1,'queued',20.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,2,'running',21.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,3,'lost',22.0,'worker host-1 vanished',0.25,NULL);
INSERT INTO "moves" VALUES(2,2,4,'queued',22.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,5,'running',23.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,2,6,'stopped',26.0,'hopeless',0.0,NULL);
INSERT INTO "moves" VALUES(2,3,0,'proposed',30.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,3,1,'queued',30.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,3,2,'running',31.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,3,3,'done',31.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,4,0,'proposed',40.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,4,1,'queued',40.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,4,2,'running',41.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,4,3,'queued',42.0,'',0.125,NULL);
INSERT INTO "moves" VALUES(2,4,4,'running',50.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,5,0,'proposed',60.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,5,1,'queued',60.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(2,6,0,'proposed',70.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,0,0,'proposed',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,0,1,'queued',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,1,0,'proposed',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,1,1,'queued',2.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,0,2,'running',3.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,0,3,'paused',9.0,'predicted 0.8 ± 0.1',0.25,5.5);
INSERT INTO "moves" VALUES(3,1,2,'running',3.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,1,3,'paused',9.0,'predicted 0.8 ± 0.1',0.25,5.5);
INSERT INTO "moves" VALUES(3,1,4,'stopped',10.0,'not selected',0.0,NULL);
INSERT INTO "moves" VALUES(3,2,0,'proposed',11.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,2,1,'queued',11.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,2,2,'running',12.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,2,3,'done',23.0,'',0.0,11.0);
INSERT INTO "moves" VALUES(3,3,0,'proposed',24.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,3,1,'queued',24.0,'',0.0,NULL);
INSERT INTO "moves" VALUES(3,3,2,'running',25.0,'',0.0,NULL);
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
INSERT INTO "observations" VALUES(2,0,0,'1/10','measured','{"accuracy":0.7,"loss":0.5}',9.5,0.00095,'');
INSERT INTO "observations" VALUES(2,0,1,'1','measured','{"accuracy":0.30000000000000004,"loss":0.5}',100.125,0.0100125,'');
INSERT INTO "observations" VALUES(2,1,0,'1','failed','{}',20.0,1.5,'timeout: 20 s');
INSERT INTO "observations" VALUES(2,2,0,'1','censored','{"accuracy":0.25}',3.0,0.75,'');
INSERT INTO "observations" VALUES(2,3,0,'1','measured','{"accuracy":0.5,"loss":0.5}',11.0,0.25,'');
INSERT INTO "observations" VALUES(3,1,0,'1','partial','{"accuracy":0.75}',5.5,0.25,'');
INSERT INTO "observations" VALUES(3,2,0,'1','measured','{"accuracy":0.5,"loss":0.5}',11.0,0.25,'');
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
INSERT INTO "reports" VALUES(1,2,0,1,1.5,'{"loss":2.5}',1.0,NULL);
INSERT INTO "reports" VALUES(2,2,0,1,9.5,'{"accuracy":0.7}',NULL,'1/10');
CREATE TABLE stays (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	machine TEXT NOT NULL,
	market TEXT NOT NULL,
	on_demand BOOLEAN NOT NULL,
	max_price DOUBLE,
	usd_per_hour DOUBLE NOT NULL,
	source TEXT NOT NULL,
	launched DOUBLE NOT NULL,
	quotes TEXT NOT NULL,
	step_from DOUBLE NOT NULL,
	ready DOUBLE,
	"left" DOUBLE,
	ended DOUBLE,
	kept DOUBLE NOT NULL,
	reached DOUBLE NOT NULL,
	saving_seconds DOUBLE NOT NULL,
	gross_usd DOUBLE,
	refund_usd DOUBLE,
	revoked BOOLEAN NOT NULL,
	why TEXT NOT NULL,
	CONSTRAINT pk_stays PRIMARY KEY (study_id, number, attempt, machine),
	CONSTRAINT fk_stays_trials FOREIGN KEY(study_id, number) REFERENCES trials (study_id, number)
);
INSERT INTO "stays" VALUES(3,0,1,'i-0','small/zone-a',0,0.5,0.125,'prices.csv',3.5,'{"a":1}',0.0,4.0,8.0,9.0,7.0,7.5,0.5,0.25,NULL,0,'');
INSERT INTO "stays" VALUES(3,1,1,'i-1','small/zone-a',0,0.5,0.125,'prices.csv',3.5,'{"a":1}',0.0,4.0,8.0,9.0,7.0,7.5,0.5,0.25,NULL,0,'');
INSERT INTO "stays" VALUES(3,3,1,'i-3','small/zone-b',1,NULL,0.36,'catalogue',25.5,'',0.0,NULL,NULL,NULL,0.0,0.0,0.0,NULL,NULL,0,'');
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
	proposing_until DOUBLE, changes INTEGER DEFAULT (-1) NOT NULL,
	CONSTRAINT pk_studies PRIMARY KEY (id),
	CONSTRAINT uq_studies_name UNIQUE (name)
);
INSERT INTO "studies" VALUES(1,'empty',1.0,'0.1.0','{}','',0,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "studies" VALUES(2,'everything',1700000000.25,'0.1.0','{"maximize": "accuracy", "seed": 7}','name: everything # a job file
',21,7.5,NULL,NULL,'host-1',90.0,21);
INSERT INTO "studies" VALUES(3,'judged',1.0,'0.2.0','{}','',12,9.0,NULL,NULL,NULL,NULL,12);
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
	changed INTEGER NOT NULL, kind TEXT DEFAULT 'search' NOT NULL,
	CONSTRAINT pk_trials PRIMARY KEY (study_id, number),
	CONSTRAINT fk_trials_studies FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "trials" VALUES(2,0,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1','1/10 1','[["start","start 1/5"]]','{"accuracy":[0.8,0.05],"cost":[0.1,0.02]}',600.0,'done',0.0,1,NULL,NULL,NULL,3,'search');
INSERT INTO "trials" VALUES(2,1,'{"cluster":{"nodes":4,"type":"small"},"lr":1e-05,"momentum":0.3,"optimizer":"sgd"}','1','1','[["plain","model"]]','{}',NULL,'failed',0.5,2,NULL,NULL,NULL,8,'search');
INSERT INTO "trials" VALUES(2,2,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1','1','[]','{}',NULL,'stopped',0.0,2,NULL,NULL,NULL,13,'search');
INSERT INTO "trials" VALUES(2,3,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1','1','[]','{}',NULL,'done',0.0,1,NULL,NULL,NULL,15,'search');
INSERT INTO "trials" VALUES(2,4,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1/10','1/10','[]','{}',NULL,'running',0.0,2,'host-1',50.0,110.0,19,'search');
INSERT INTO "trials" VALUES(2,5,'{"cluster":{"nodes":4,"type":"small"},"lr":1e-05,"momentum":0.3,"optimizer":"sgd"}','1','1','[]','{}',NULL,'queued',0.0,0,NULL,NULL,NULL,20,'search');
INSERT INTO "trials" VALUES(2,6,'{"cluster":{"nodes":4,"type":"small"},"lr":1e-05,"momentum":0.3,"optimizer":"sgd"}','1','1','[]','{}',NULL,'proposed',0.0,0,NULL,NULL,NULL,21,'search');
INSERT INTO "trials" VALUES(3,0,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1','1','[["fallback","no result to learn from yet; at random"],["cap","the optimum is sought among 10 of 80 configurations"],["plain","two\nlines"]]','{}',NULL,'paused',0.0,1,NULL,NULL,NULL,4,'search');
INSERT INTO "trials" VALUES(3,1,'{"cluster":{"nodes":4,"type":"small"},"lr":1e-05,"momentum":0.3,"optimizer":"sgd"}','1','1','[["fallback","no result to learn from yet; at random"],["cap","the optimum is sought among 10 of 80 configurations"],["plain","two\nlines"]]','{}',NULL,'stopped',0.25,1,NULL,NULL,NULL,7,'search');
INSERT INTO "trials" VALUES(3,2,'{"cluster":{"nodes":1,"type":"small"},"lr":0.1,"optimizer":"adam"}','1','1','[]','{}',NULL,'done',0.0,1,NULL,NULL,NULL,10,'verification');
INSERT INTO "trials" VALUES(3,3,'{"cluster":{"nodes":4,"type":"small"},"lr":1e-05,"momentum":0.3,"optimizer":"sgd"}','1','1','[]','{}',NULL,'running',0.0,1,'host-1',25.0,85.0,12,'enqueued');
CREATE TABLE workers (
	study_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	host TEXT NOT NULL,
	pid INTEGER NOT NULL,
	process_started DOUBLE NOT NULL,
	slots INTEGER NOT NULL,
	joined DOUBLE NOT NULL,
	seen DOUBLE NOT NULL, heard DOUBLE DEFAULT (-1) NOT NULL,
	CONSTRAINT pk_workers PRIMARY KEY (study_id, id),
	CONSTRAINT fk_workers_studies FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "workers" VALUES(2,'host-1','host',4711,12.5,2,1700000002.0,1700000002.5,1700000002.5);
CREATE INDEX ix_trials_study_id_state_number ON trials (study_id, state, number);
CREATE INDEX ix_trials_study_id_changed ON trials (study_id, changed);
CREATE INDEX ix_reports_study_id_number ON reports (study_id, number);
CREATE INDEX ix_ledger_study_id_changed ON ledger (study_id, changed);
CREATE INDEX ix_reports_study_id_id ON reports (study_id, id);
CREATE TRIGGER refuse_0001_studies_0 BEFORE INSERT ON studies WHEN NEW.version <> NEW.changes BEGIN SELECT RAISE(ABORT, 'a newer LeanTune upgraded this database: start this program again with it (pip install --upgrade leantune)'); END;
CREATE TRIGGER refuse_0001_studies_1 BEFORE UPDATE OF version ON studies WHEN NEW.version <> NEW.changes BEGIN SELECT RAISE(ABORT, 'a newer LeanTune upgraded this database: start this program again with it (pip install --upgrade leantune)'); END;
CREATE TRIGGER refuse_0001_workers_0 BEFORE INSERT ON workers WHEN NEW.seen <> NEW.heard BEGIN SELECT RAISE(ABORT, 'a newer LeanTune upgraded this database: start this program again with it (pip install --upgrade leantune)'); END;
CREATE TRIGGER refuse_0001_workers_1 BEFORE UPDATE OF seen ON workers WHEN NEW.seen <> NEW.heard BEGIN SELECT RAISE(ABORT, 'a newer LeanTune upgraded this database: start this program again with it (pip install --upgrade leantune)'); END;
COMMIT;
